"""CIFAR-10 from mosaics: every tile under its label and in its place, in files that bostruct.nas.cifar reads."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from benchmarks.cifar_mosaics import NOTE, convert, main, tiles
from bostruct.contracts import BostructError, MissingExtra
from bostruct.nas import cifar

MOSAICS = [*(f"train_{i}.jpg" for i in range(1, 6)), "test.jpg"]


@pytest.fixture
def mosaics(tmp_path):
    """Six mosaics of 2 x 3 tiles, each of one color, which JPEG keeps within a gray level or two."""
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    folder = tmp_path / "mosaics"
    folder.mkdir()
    colors = rng.integers(30, 220, (6, 2, 3, 3), dtype=np.uint8)
    for name, grid in zip(MOSAICS, colors, strict=True):
        pixels = grid.repeat(32, axis=0).repeat(32, axis=1)
        image.fromarray(pixels).save(folder / name, quality=98, subsampling=0)
    labels = rng.integers(0, 10, 36).astype(np.uint8)
    np.savez(folder / "labels.npz", train=labels[:30], test=labels[30:])
    return folder, colors.reshape(36, 3), labels


def test_tiles_are_taken_row_by_row():
    mosaic = np.arange(64 * 96 * 3).reshape(64, 96, 3)
    cut = tiles(mosaic)
    assert cut.shape == (6, 3, 32, 32)
    np.testing.assert_array_equal(cut[4], mosaic[32:, 32:64].transpose(2, 0, 1))
    with pytest.raises(ValueError, match=r"mosaic: expected RGB tiles of 32 x 32 pixels, got shape \(33, 32, 3\)"):
        tiles(np.zeros((33, 32, 3)))


def test_what_is_written_is_read_as_cifar(mosaics, tmp_path, monkeypatch, capsys):
    folder, colors, labels = mosaics
    out = tmp_path / "out"
    monkeypatch.setattr(sys, "argv", ["cifar_mosaics", str(folder), str(out)])
    main()
    assert capsys.readouterr().out == f"36 images in {out}. {NOTE}\n"
    assert (out / "NOTE.txt").read_text() == NOTE + "\n"
    with pytest.warns(UserWarning, match="not the official files"):
        found = cifar.read_cifar10(out)
    for (images, given), rows in ((found.train, slice(30)), (found.test, slice(30, 36))):
        assert given.tolist() == labels[rows].tolist()
        assert np.abs(images - colors[rows].astype(int)[:, :, None, None]).max() <= 4


def test_batches_that_are_there_are_not_replaced(mosaics, tmp_path):
    (tmp_path / "data_batch_2").write_bytes(b"official")
    with pytest.raises(BostructError, match=r"OUT: .*data_batch_2 exists already"):
        convert(mosaics[0], tmp_path)
    assert not (tmp_path / "data_batch_1.bin").exists()


def test_a_folder_of_another_form_is_refused(mosaics, tmp_path):
    folder, _, labels = mosaics
    out = tmp_path / "out"
    with pytest.raises(BostructError, match=r"MOSAICS: expected labels.npz.*found no"):
        convert(tmp_path, out)
    for name, arrays, said in (
        ("names", {"train": labels}, "found no test"),
        ("size", {"train": labels[:29], "test": labels[30:]}, "batches of one size"),
        ("count", {"train": labels[:25], "test": labels[30:]}, "each of its 5 labels, got 6"),
        ("class", {"train": labels[:30] + 10, "test": labels[30:]}, "labels below 10"),
    ):
        np.savez(folder / "labels.npz", **arrays)
        with pytest.raises(BostructError, match=said):
            convert(folder, out)
        assert not out.exists(), name
    np.savez(folder / "labels.npz", train=labels[:30], test=labels[30:])
    (folder / "test.jpg").unlink()
    with pytest.raises(BostructError, match=r"found no .*test.jpg"):
        convert(folder, out)


def test_without_pillow_the_message_names_it(mosaics, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(MissingExtra, match=r"PIL.Image is not installed; it comes with the extra 'plot'"):
        convert(mosaics[0], tmp_path / "out")
