"""CIFAR-10 from every form that its files come in, and the protocols on a miniature of it."""

from __future__ import annotations

import hashlib
import io
import pickle
import socket
import struct
import tarfile
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import bostruct as bo
from bostruct.contracts import BostructError, DomainError
from bostruct.nas import CIFAR10Objective, cifar, cifar10, recipes


def miniature(n=20, seed=0):
    """Every batch of the official files with n images."""
    rng = np.random.default_rng(seed)
    return {name: (rng.integers(0, 256, (n, 3, 32, 32), dtype=np.uint8), np.arange(n) % 10) for name in cifar.BATCHES}


def pickled(images, labels):
    return pickle.dumps({b"data": images.reshape(len(images), -1), b"labels": labels.tolist()})


def binary(images, labels):
    return b"".join(bytes([label]) + image.tobytes() for image, label in zip(images, labels, strict=True))


def md5(raw):
    return hashlib.md5(raw).hexdigest()


def same(found, batches):
    images = np.concatenate([batches[name][0] for name in cifar.BATCHES if name != "test_batch"])
    np.testing.assert_array_equal(found.train[0], images)
    np.testing.assert_array_equal(found.test[0], batches["test_batch"][0])
    assert found.train[1].tolist() == [*range(10)] * (len(images) // 10)


@pytest.fixture
def python_folder(tmp_path, monkeypatch):
    batches = miniature()
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    raws = {name: pickled(*batch) for name, batch in batches.items()}
    for name, raw in raws.items():
        (folder / name).write_bytes(raw)
    monkeypatch.setattr(cifar, "BATCHES", {name: md5(raw) for name, raw in raws.items()})
    return tmp_path, batches


def test_python_batches_are_read_from_their_folder_or_the_one_above(python_folder):
    path, batches = python_folder
    same(cifar.read_cifar10(path), batches)
    same(cifar.read_cifar10(path / "cifar-10-batches-py"), batches)


def test_a_pickle_that_is_not_the_official_one_is_never_loaded(tmp_path):
    class Trap:
        def __reduce__(self):
            return (tmp_path.joinpath("sprung").touch, ())

    (tmp_path / "data_batch_1").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(BostructError, match="data_batch_1: its MD5 is"):
        cifar.read_cifar10(tmp_path)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("kind", ["python", "binary"])
def test_archives_are_read_when_their_md5_is_right(tmp_path, monkeypatch, kind):
    batches = miniature()
    path = tmp_path / f"cifar-10-{kind}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, batch in batches.items():
            raw = (pickled if kind == "python" else binary)(*batch)
            entry = tarfile.TarInfo(f"cifar-10-batches-{kind}/{name}{'' if kind == 'python' else '.bin'}")
            entry.size = len(raw)
            archive.addfile(entry, io.BytesIO(raw))
    with pytest.raises(BostructError, match="its MD5 is"):
        cifar.read_cifar10(path)
    monkeypatch.setattr(cifar, f"{kind.upper()}_ARCHIVE", (path.name, md5(path.read_bytes())))
    monkeypatch.setattr(cifar, "BATCHES", {name: md5(pickled(*batch)) for name, batch in batches.items()})
    same(cifar.read_cifar10(path), batches)
    same(cifar.read_cifar10(tmp_path), batches)


@pytest.fixture
def binary_folder(tmp_path, monkeypatch):
    batches = miniature()
    raws = {name: binary(*batch) for name, batch in batches.items()}
    for name, raw in raws.items():
        (tmp_path / f"{name}.bin").write_bytes(raw)
    sums = {name: hashlib.sha1(raw).hexdigest() for name, raw in raws.items()}
    monkeypatch.setattr(cifar, "BINARY_SHA1", sums)
    return tmp_path, batches


def test_binary_batches_are_read(binary_folder):
    path, batches = binary_folder
    same(cifar.read_cifar10(path), batches)


def test_binary_batches_that_are_not_the_official_ones_are_read_with_a_warning(binary_folder, monkeypatch):
    path, batches = binary_folder
    monkeypatch.setitem(cifar.BINARY_SHA1, "data_batch_2", "0" * 40)
    with pytest.warns(UserWarning, match=r": data_batch_2\.bin are not the official files"):
        same(cifar.read_cifar10(path), batches)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "test_batch.bin: expected records of 3073 bytes, got 0"),
        (b"short", "expected records of 3073 bytes"),
        (bytes([200]) * cifar.RECORD, r"labels in 0\.\.9, got 200"),
    ],
)
def test_binary_batches_that_are_damaged_are_refused(binary_folder, monkeypatch, raw, message):
    path, _ = binary_folder
    (path / "test_batch.bin").write_bytes(raw)
    monkeypatch.setitem(cifar.BINARY_SHA1, "test_batch", hashlib.sha1(raw).hexdigest())
    with pytest.raises(BostructError, match=message):
        cifar.read_cifar10(path)


@pytest.mark.parametrize("form", ["binary_folder", "python_folder"])
def test_a_batch_that_is_not_there_is_named(request, form):
    path, _ = request.getfixturevalue(form)
    for file in path.rglob("data_batch_3*"):
        file.unlink()
    with pytest.raises(cifar.DataMissing, match=r"data_batch_3.*not there.*Expected cifar-10-python.tar.gz"):
        cifar.read_cifar10(path)


def test_a_download_comes_whole_and_official_or_not_at_all(tmp_path, monkeypatch):
    source = tmp_path / "source"
    source.mkdir()
    monkeypatch.setattr(cifar, "URL", source.as_uri() + "/")
    for given, message in ((None, "could not be fetched"), (b"other", "its MD5 is")):
        if given is not None:
            (source / cifar.PYTHON_ARCHIVE[0]).write_bytes(given)
        with pytest.raises(BostructError, match=message):
            cifar.download(tmp_path / "here")
        assert list((tmp_path / "here").iterdir()) == []
    monkeypatch.setattr(cifar, "PYTHON_ARCHIVE", (cifar.PYTHON_ARCHIVE[0], md5(b"other")))
    assert cifar.download(tmp_path / "here").read_bytes() == b"other"
    assert len(list((tmp_path / "here").iterdir())) == 1


def test_a_download_does_not_wait_for_ever(tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setattr(cifar, "URL", f"http://127.0.0.1:{silent.getsockname()[1]}/")
        monkeypatch.setattr(cifar, "DOWNLOAD_TIMEOUT", 0.2)
        with pytest.raises(BostructError, match="could not be fetched"):
            cifar.download(tmp_path)


def claimed_png(width: int, height: int) -> bytes:
    """A PNG file that claims a size, and ends after its header."""
    chunk = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))


def test_folders_of_images_are_read(tmp_path):
    image = pytest.importorskip("PIL.Image")
    for part in ("train", "test"):
        for label, name in enumerate(cifar.CLASSES):
            (tmp_path / part / name).mkdir(parents=True)
            image.fromarray(np.full((32, 32, 3), 10 * label, dtype=np.uint8)).save(tmp_path / part / name / "1.png")
    found = cifar.read_cifar10(tmp_path)
    assert found.train[1].tolist() == list(range(10))
    assert found.test[0][3].max() == found.test[0][3].min() == 30
    image.fromarray(np.zeros((16, 16, 3), dtype=np.uint8)).save(tmp_path / "test" / "cat" / "2.png")
    with pytest.raises(DomainError, match="32 x 32 pixels, got 16 x 16"):
        cifar.read_cifar10(tmp_path)
    (tmp_path / "test" / "cat" / "2.png").unlink()
    (tmp_path / "test" / "cat" / ".DS_Store").write_bytes(b"Bud1")
    assert len(cifar.read_cifar10(tmp_path).test[1]) == 10
    for raw in (b"Bud1", claimed_png(100_000, 100_000), claimed_png(32, 32)):
        (tmp_path / "test" / "cat" / "3.png").write_bytes(raw)
        with pytest.raises(DomainError, match=r"3\.png: expected an image of 32 x 32 pixels"):
            cifar.read_cifar10(tmp_path)
    (tmp_path / "test" / "cat" / "3.png").unlink()
    (tmp_path / "test" / "tiger").mkdir()
    with pytest.raises(DomainError, match="expected folders airplane"):
        cifar.read_cifar10(tmp_path)


def test_without_data_the_message_says_how_to_get_them(tmp_path):
    with pytest.raises(cifar.DataMissing, match=r"no CIFAR-10 there.*cifar-10-python.tar.gz.*download\(folder\)"):
        cifar.read_cifar10(tmp_path)


def official(n=40):
    batches = miniature(n)
    images = np.concatenate([batches[name][0] for name in batches if name != "test_batch"])
    return cifar.OfficialSplit((images, np.arange(len(images)) % 10), batches["test_batch"])


def test_the_split_is_the_published_shuffle():
    numbers = np.arange(50_000)
    images = np.stack([numbers >> 16, numbers >> 8 & 255, numbers & 255], axis=1).astype(np.uint8)[:, :, None, None]
    whole = cifar.OfficialSplit((images, numbers % 10), (images[:1], numbers[:1]))
    data = cifar10(whole)

    def number(image):
        return int(image.flatten().to(torch.int64) @ torch.tensor([65536, 256, 1]))

    assert [number(image) for image in data.train.inputs[:5]] == [11841, 19602, 45519, 25747, 42642]
    assert number(data.validation.inputs[-1]) == 2732
    assert data.train.targets[:5].tolist() == [1, 2, 9, 7, 2]
    assert (len(data.train.targets), len(data.validation.targets)) == (40_000, 10_000)
    with pytest.raises(ValueError, match="train, validation: expected at most 50000 images together"):
        cifar10(whole, 45_000, 10_000)
    for sizes, name in (((0, 10), "train"), ((10, 0), "validation")):
        with pytest.raises(ValueError, match=f"{name}: expected at least 1, got 0"):
            cifar10(whole, *sizes)
        with pytest.raises(ValueError, match=f"{name}: expected at least 1, got 0"):
            CIFAR10Objective(whole, train=sizes[0], validation=sizes[1])


@pytest.mark.parametrize("protocol", cifar.PROTOCOLS)
def test_every_protocol_trains(protocol):
    chosen = cifar.PROTOCOLS[protocol]
    settings = {"epochs": 2, "repeats": 2}
    objective = CIFAR10Objective(official(), protocol, train=120, validation=40, settings=settings)
    network = bo.Architecture.chain("conv3-8/2 max-pool max-pool softmax")
    trained = objective.objective.train(network)
    best = min if chosen.recipe.score == "best" else lambda errors: errors[-1]
    scores = [best([epoch.error for epoch in one.epochs]) for one in trained]
    assert len(scores) == 2
    assert objective(network) == pytest.approx(np.mean(scores))
    assert objective.objective.recipe == replace(chosen.recipe, epochs=2)


def test_settings_are_the_objectives_or_the_recipes():
    sizes: Any = {"train": 120, "validation": 40}
    made = CIFAR10Objective(official(), "combo", **sizes, settings={"epochs": 3, "seed": 7, "recipe": recipes.WRS})
    assert made.objective.recipe == replace(recipes.WRS, epochs=3)
    assert (made.objective.seed, made.objective.repeats) == (7, 4)
    settings = {"epoch": "settings: 'epoch' is not a setting", "data": "settings: 'data' is not a setting"}
    for wrong, message in settings.items():
        with pytest.raises(ValueError, match=message):
            CIFAR10Objective(official(), **sizes, settings={wrong: 3})
    with pytest.raises(TypeError, match="settings: recipe: expected a Recipe, got 'wrs'"):
        CIFAR10Objective(official(), **sizes, settings={"recipe": "wrs", "epochs": 3})
