"""Convert CIFAR-10 from six JPEG mosaics to the format of the official binary batches, for bostruct.nas.cifar.

    python -m benchmarks.cifar_mosaics MOSAICS OUT

MOSAICS: train_1.jpg to train_5.jpg and test.jpg, tiles of 32 x 32 pixels row by row in the official order, and
labels.npz with arrays ``train`` and ``test``. OUT gets data_batch_1.bin to data_batch_5.bin, test_batch.bin,
batches.meta.txt and NOTE.txt. JPEG is lossy, so the pixels and MD5s are not the official ones. The batches are binary
because bostruct reads binary batches with any MD5, but python batches (pickles) only with the official MD5.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from bostruct.checks import optional_import
from bostruct.contracts import BostructError
from bostruct.nas.cifar import BATCHES, CLASSES

SIDE = 32
NOTE = (
    "These pixels come from JPEG mosaics, not from the official files: they differ by a few gray levels and so do the "
    'MD5s. Report numbers that were measured on them as "JPEG CIFAR-10".'
)


def tiles(mosaic: np.ndarray) -> np.ndarray:
    """Return the images (n, 3, 32, 32) of a mosaic (32 rows, 32 columns, 3), row by row. Raises ValueError."""
    height, width = mosaic.shape[:2]
    if mosaic.ndim != 3 or mosaic.shape[2] != 3 or height % SIDE or width % SIDE:
        raise ValueError(f"mosaic: expected RGB tiles of {SIDE} x {SIDE} pixels, got shape {mosaic.shape}")
    cut = mosaic.reshape(height // SIDE, SIDE, width // SIDE, SIDE, 3)
    return cut.transpose(0, 2, 4, 1, 3).reshape(-1, 3, SIDE, SIDE)


def convert(mosaics: Path, out: Path) -> int:
    """Write the six batches and the note; return the number of images.

    Raises BostructError if a file is missing, if mosaics and labels do not match, or if `out` already has batches, and
    MissingExtra without Pillow.
    """
    present = [out / f"{name}{ending}" for name in BATCHES for ending in ("", ".bin")]
    if found := [path for path in present if path.exists()]:
        raise BostructError(f"OUT: {found[0]} exists already; expected a folder without batches")
    pairs = list(zip(BATCHES, _labels(mosaics), strict=True))
    records = {name: _records(mosaics / _mosaic_of(name), labels) for name, labels in pairs}
    out.mkdir(parents=True, exist_ok=True)
    for name, rows in records.items():
        (out / f"{name}.bin").write_bytes(rows.tobytes())
    (out / "batches.meta.txt").write_text("".join(f"{name}\n" for name in CLASSES))
    (out / "NOTE.txt").write_text(NOTE + "\n")
    return sum(map(len, records.values()))


def _mosaic_of(batch: str) -> str:
    return "test.jpg" if batch == "test_batch" else f"train_{batch[-1]}.jpg"


def _labels(mosaics: Path) -> list[np.ndarray]:
    """Return the labels of each batch, in the order of `BATCHES`."""
    path = mosaics / "labels.npz"
    if not path.is_file():
        raise BostructError(f"MOSAICS: expected labels.npz, train_1.jpg to train_5.jpg and test.jpg, found no {path}")
    with np.load(path, allow_pickle=False) as stored:
        if missing := {"train", "test"} - set(stored):
            raise BostructError(f"{path}: expected arrays train and test, found no {min(missing)}")
        train, test = stored["train"], stored["test"]
    n_parts = len(BATCHES) - 1
    if len(train) % n_parts or max(train.max(), test.max()) >= len(CLASSES):
        raise BostructError(f"{path}: expected labels below {len(CLASSES)}, and {n_parts} batches of one size in train")
    return [*np.split(train, n_parts), test]


def _records(path: Path, labels: np.ndarray) -> np.ndarray:
    """Return the bytes (n, 3073) of the official binary format, label first."""
    pillow = optional_import("PIL.Image", "plot")
    if not path.is_file():
        raise BostructError(f"MOSAICS: found no {path}")
    with pillow.open(path) as image:
        images = tiles(np.asarray(image.convert("RGB")))
    if len(images) != len(labels):
        raise BostructError(f"{path}: expected a tile for each of its {len(labels)} labels, got {len(images)}")
    return np.concatenate([labels.astype(np.uint8)[:, None], images.reshape(len(images), -1)], axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("mosaics", type=Path, metavar="MOSAICS")
    parser.add_argument("out", type=Path, metavar="OUT")
    given = parser.parse_args()
    try:
        count = convert(given.mosaics, given.out)
    except (BostructError, ValueError) as error:
        sys.exit(str(error))
    print(f"{count} images in {given.out}. {NOTE}")


if __name__ == "__main__":
    main()
