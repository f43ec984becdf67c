"""CIFAR-10 (Krizhevsky 2009) from its official files or a folder of images, and objectives by the papers' protocols.

Only `download` downloads files. Archives and unpacked batches of the python archive are read only if they have the
official MD5, because they are unpickled. Unpacked binary batches may contain any images; a warning is given if they do
not have the official SHA-1. Folders of images are not checked.
"""

from __future__ import annotations

import hashlib
import pickle
import tarfile
import urllib.request
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from http.client import HTTPException
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch

from bostruct.checks import check_choice, check_integer, optional_import, short_repr
from bostruct.contracts import BostructError, DomainError
from bostruct.nas.data import Dataset, Examples
from bostruct.nas.objectives import RECIPE_SETTINGS, NetworkObjective
from bostruct.nas.recipes import COMBO, DEEP_ARCHITECT, FAST_IMAGES, NASBOT_CNN, WRS, Recipe
from bostruct.output_files import check_output, write_output

OBJECTIVE_FIELDS = frozenset(one.name for one in fields(NetworkObjective)) - {"data"}
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
MEAN, SCALE = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)  # Oh et al. 2019
PYTHON_ARCHIVE = ("cifar-10-python.tar.gz", "c58f30108f718f92721af3b95e74349a")
BINARY_ARCHIVE = ("cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530")
BATCHES = {
    "data_batch_1": "c99cafc152244af753f735de768cd75f",
    "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "data_batch_4": "634d18415352ddfa80567beed471001a",
    "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    "test_batch": "40351d587109b95175f43aff81a1287e",
}
BINARY_SHA1 = {  # SHA-1 of NAME.bin, from Apache MXNet's gluon.data.vision.CIFAR10
    "data_batch_1": "aadd24acce27caa71bf4b10992e9e7b2d74c2540",
    "data_batch_2": "c0ba65cce70568cd57b4e03e9ac8d2a5367c1795",
    "data_batch_3": "1dd00a74ab1d17a6e7d73e185b69dbf31242f295",
    "data_batch_4": "aab85764eb3584312d3c7f65fd2fd016e36a258e",
    "data_batch_5": "26e2849e66a845b7f1e4614ae70f4889ae604628",
    "test_batch": "67eb016db431130d61cd03c7ad570b013799c88c",
}
URL = "https://www.cs.toronto.edu/~kriz/"
HOW_TO_OBTAIN = (
    f"Expected {PYTHON_ARCHIVE[0]} or {BINARY_ARCHIVE[0]} of {URL}cifar.html, their unpacked folder, or folders "
    "train/CLASS and test/CLASS of images; bostruct.nas.cifar.download(folder), or `bostruct nas cifar10 --data FOLDER "
    "--download`, downloads the first archive"
)
DOWNLOAD_TIMEOUT = 60.0  # seconds without a byte, after which a download has failed
RECORD = 1 + 3 * 32 * 32
Images = tuple[np.ndarray, np.ndarray]  # uint8 (n, 3, 32, 32), int64 (n,)


def cifar10(
    path: str | Path | OfficialSplit, train: int = 40_000, validation: int = 10_000, shuffled: bool = True
) -> Dataset:
    """Load CIFAR-10, split into training, validation and test examples.

    Training and validation examples are from the official 50,000 training images, test examples are the other 10,000.

    Parameters
    ----------
    path : str, Path, or OfficialSplit
        See `read_cifar10`, or the result of `read_cifar10`.
    train : int, default 40000
        Number of training images, taken from the start, at least 1.
    validation : int, default 10000
        Number of validation images, taken from the end, at least 1.
    shuffled : bool, default True
        Whether images are first shuffled by ``numpy.random.RandomState(0)``, as by Oh et al. 2019.

    Returns
    -------
    Dataset
        The data set.

    Raises
    ------
    ValueError
        If training and validation images overlap.
    OSError
        See `read_cifar10`.
    """
    official = path if isinstance(path, OfficialSplit) else read_cifar10(path)
    images, labels = official.train
    check_integer("train", train, 1)
    if check_integer("validation", validation, 1) + train > len(images):
        raise ValueError(
            f"train, validation: expected at most {len(images)} images together, got {train} and {validation}"
        )
    order = np.arange(len(images))
    if shuffled:
        np.random.RandomState(0).shuffle(order)
    first, last = (_examples(images[cut], labels[cut]) for cut in (order[:train], order[-validation:]))
    return Dataset("cifar10", "classification", first, last, _examples(*official.test), 10, MEAN, SCALE)


@dataclass(frozen=True)
class CIFAR10Objective:
    """An objective that trains a network on CIFAR-10 by a paper's protocol and returns its validation error.

    It is called with a point of the `NetworkObjective` in its attribute `objective`.

    Parameters
    ----------
    path : str, Path, or OfficialSplit
        See `cifar10`.
    protocol : {"combo", "deeparchitect", "nasbot", "wrs", "fast"}, default "fast"
        The protocol.
    train, validation : int, optional
        Numbers of images. By default the protocol's numbers.
    settings : dict, optional
        Arguments of `NetworkObjective` other than ``data``, and of `Recipe`. They replace the protocol's settings.

    Attributes
    ----------
    objective : NetworkObjective
        The objective with these settings.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid.
    """

    path: Any
    protocol: Literal["combo", "deeparchitect", "nasbot", "wrs", "fast"] = "fast"
    train: int | None = None
    validation: int | None = None
    settings: Mapping[str, object] | None = None
    objective: NetworkObjective = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_choice("protocol", self.protocol, PROTOCOLS)
        chosen = PROTOCOLS[self.protocol]
        given = objective_settings(chosen, self.settings or {})
        train = chosen.train if self.train is None else self.train
        validation = chosen.validation if self.validation is None else self.validation
        data = cifar10(self.path, train, validation)
        object.__setattr__(self, "objective", NetworkObjective(data, **given))

    def __call__(self, point: object) -> float:
        return self.objective(point)


def read_cifar10(path: str | Path) -> OfficialSplit:
    """Read CIFAR-10 from disk.

    path: the official python or binary archive or its unpacked folder; or a folder with folders ``train`` and
        ``test``, each with a folder of images for each class.

    Raises DataMissing; BostructError if a file to unpickle is not official, or a binary file is damaged; DomainError
    for images of other sizes. Warns if binary files are not official.
    """
    place = Path(path).expanduser()
    if place.is_file():
        return _archive(place)
    for folder in (place, place / "cifar-10-batches-py"):
        if (folder / "data_batch_1").is_file():
            return _join_batches({name: _unpickle_batch(_read_batch(folder / name), name) for name in BATCHES})
    for folder in (place, place / "cifar-10-batches-bin"):
        if (folder / "data_batch_1.bin").is_file():
            return _binary_folder(folder)
    for name, _ in (PYTHON_ARCHIVE, BINARY_ARCHIVE):
        if (place / name).is_file():
            return _archive(place / name)
    if (place / "train").is_dir() and (place / "test").is_dir():
        return OfficialSplit(_folder(place / "train"), _folder(place / "test"))
    raise DataMissing(f"{place}: no CIFAR-10 there. {HOW_TO_OBTAIN}")


def synthetic_cifar10(train: int = 50_000, test: int = 10_000, seed: int = 0) -> OfficialSplit:
    """Make images in the format of CIFAR-10, to try a search without its files; a class is a direction of stripes.

    Stripes have ten directions, random phase, period and color, and noise. Errors say nothing about CIFAR-10.

    train, test: numbers of images, from 10.
    seed: random seed, from 0.

    Raises TypeError, ValueError.
    """
    for name, count in (("train", train), ("test", test)):
        check_integer(name, count, len(CLASSES))
    rng = np.random.default_rng(check_integer("seed", seed, 0))

    def images(count: int) -> Images:
        labels = np.arange(count, dtype=np.int64) % len(CLASSES)
        angle = (labels + rng.uniform(-0.2, 0.2, count)) * np.pi / len(CLASSES)
        rows, columns = np.mgrid[0:32, 0:32]
        across = np.cos(angle)[:, None, None] * columns + np.sin(angle)[:, None, None] * rows
        period, phase = rng.uniform(5.0, 9.0, (count, 1, 1)), rng.uniform(0.0, 2.0 * np.pi, (count, 1, 1))
        stripes = np.sin(2.0 * np.pi * across / period + phase)[:, None] * rng.uniform(0.2, 1.0, (count, 3, 1, 1))
        values = 40.0 * rng.standard_normal((count, 3, 32, 32), dtype=np.float32)
        values += 120.0 + 50.0 * stripes
        return np.clip(values, 0.0, 255.0, out=values).astype(np.uint8), labels

    return OfficialSplit(images(train), images(test))


def download(folder: str | Path, *, overwrite: bool = False) -> Path:
    """Download the official python archive (163 MB) into a folder, unless it is there, and return its path.

    overwrite: True replaces another file of its name.

    Raises BostructError if the download fails or its MD5 is wrong, without leaving a file; OutputRefused, a
    FileExistsError, if the folder has another file of its name.
    """
    name, expected = PYTHON_ARCHIVE
    target = Path(folder).expanduser() / name
    if target.is_file() and _digest_archive(target.read_bytes(), "md5") == expected:
        return target
    check_output(target, name, overwrite=overwrite)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with urllib.request.urlopen(URL + name, timeout=DOWNLOAD_TIMEOUT) as source:
            archive = source.read()
    except (OSError, HTTPException) as error:
        raise BostructError(f"{URL + name} could not be fetched: {error}") from error
    _check_md5(archive, *PYTHON_ARCHIVE)
    write_output(target, archive, name, overwrite=overwrite)
    return target


class DataMissing(BostructError, FileNotFoundError):
    """Raised if data are missing; the message explains how to obtain them."""


class OfficialSplit(NamedTuple):
    """The images of CIFAR-10 in the official order.

    train: 50,000 images and their classes.
    test: 10,000 images and their classes.
    """

    train: Images
    test: Images


class Protocol(NamedTuple):
    """How a paper trains and scores a network on CIFAR-10.

    train: number of training images.
    validation: number of validation images.
    """

    recipe: Recipe
    train: int
    validation: int
    repeats: int
    departures: str


PROTOCOLS: dict[str, Protocol] = {
    "combo": Protocol(COMBO, 40_000, 10_000, 4, "none from the code; the paper says 30,000 training images"),
    "deeparchitect": Protocol(
        DEEP_ARCHITECT,
        40_000,
        10_000,
        1,
        "split, batch size and augmentation are not published; the published result was retrained with a grid of 18 "
        "recipes around bostruct.nas.recipes.DEEP_ARCHITECT_RETRAIN",
    ),
    "nasbot": Protocol(
        NASBOT_CNN,
        40_000,
        10_000,
        1,
        "60,000 steps as in the paper (the code takes 80,000), with the code's rate of 0.005 (paper: 0.01) and drops; "
        "the best of 48 validations (code: 20); shifts by 4 pixels instead of crops of enlarged images; running "
        "averages of batch normalization keep 0.9 per step instead of 0.997",
    ),
    "wrs": Protocol(
        WRS,
        40_000,
        10_000,
        1,
        "validates on 10,000 training images, while the paper trains on 50,000 and seems to use the test set; "
        "optimizer, rate and batch size are not published",
    ),
    "fast": Protocol(FAST_IMAGES, 40_000, 10_000, 1, "from no paper: larger batches, triangular rate, label smoothing"),
}


def objective_settings(protocol: Protocol, settings: Mapping[str, object]) -> dict[str, Any]:
    """Return the arguments of a `NetworkObjective` for a protocol.

    Raises TypeError, ValueError.
    """
    if unknown := sorted(set(settings) - RECIPE_SETTINGS - OBJECTIVE_FIELDS):
        known = ", ".join(sorted(RECIPE_SETTINGS | OBJECTIVE_FIELDS))
        raise ValueError(f"settings: {unknown[0]!r} is not a setting; expected some of {known}")
    given = {"recipe": protocol.recipe, "repeats": protocol.repeats}
    given |= {name: value for name, value in settings.items() if name in OBJECTIVE_FIELDS}
    if not isinstance(given["recipe"], Recipe):
        raise TypeError(f"settings: recipe: expected a Recipe, got {short_repr(given['recipe'])}")
    changed = {name: value for name, value in settings.items() if name in RECIPE_SETTINGS}
    return given | {"recipe": replace(given["recipe"], **changed)}


def _archive(path: Path) -> OfficialSplit:
    raw = path.read_bytes()
    found = _digest_archive(raw, "md5")
    if found not in (PYTHON_ARCHIVE[1], BINARY_ARCHIVE[1]):
        raise BostructError(f"{path}: its MD5 is {found}; expected {PYTHON_ARCHIVE[1]} or {BINARY_ARCHIVE[1]}")
    with tarfile.open(path) as archive:
        files = {Path(one.name).name: archive.extractfile(one) for one in archive.getmembers() if one.isfile()}
        raws = {name.removesuffix(".bin"): file.read() for name, file in files.items() if file is not None}
    if found == PYTHON_ARCHIVE[1]:
        return _join_batches({name: _unpickle_batch(raws[name], name) for name in BATCHES})
    return _binary_batches(raws)


def _read_batch(file: Path) -> bytes:
    if not file.is_file():
        raise DataMissing(f"{file}: not there. {HOW_TO_OBTAIN}")
    return file.read_bytes()


def _digest_archive(raw: bytes, kind: str) -> str:
    return hashlib.new(kind, raw, usedforsecurity=False).hexdigest()


def _unpickle_batch(raw: bytes, name: str) -> Images:
    """Read a batch of the Python archive, only if it has the official MD5, because a pickle can run code."""
    _check_md5(raw, name, BATCHES[name])
    batch = pickle.loads(raw, encoding="bytes")
    return np.asarray(batch[b"data"]).reshape(-1, 3, 32, 32), np.asarray(batch[b"labels"], dtype=np.int64)


def _binary_folder(folder: Path) -> OfficialSplit:
    """Read unpacked binary batches; warn if they are not the official ones."""
    raws = {name: _read_batch(folder / f"{name}.bin") for name in BATCHES}
    if wrong := [name for name, raw in raws.items() if _digest_archive(raw, "sha1") != BINARY_SHA1[name]]:
        files = ", ".join(f"{name}.bin" for name in wrong)
        warnings.warn(
            f"{folder}: {files} are not the official files by their SHA-1, so errors may not be comparable with "
            "errors on CIFAR-10",
            stacklevel=3,
        )
    return _binary_batches(raws)


def _binary_batches(raws: Mapping[str, bytes]) -> OfficialSplit:
    found = {}
    for name in BATCHES:
        if name not in raws:
            raise DataMissing(f"{name}.bin: not there. {HOW_TO_OBTAIN}")
        if not raws[name] or len(raws[name]) % RECORD:
            raise BostructError(f"{name}.bin: expected records of {RECORD} bytes, got {len(raws[name])} bytes")
        rows = np.frombuffer(raws[name], dtype=np.uint8).reshape(-1, RECORD)
        if rows[:, 0].max() >= len(CLASSES):
            raise BostructError(f"{name}.bin: expected labels in 0..9, got {rows[:, 0].max()}")
        found[name] = (rows[:, 1:].reshape(-1, 3, 32, 32).copy(), rows[:, 0].astype(np.int64))
    return _join_batches(found)


def _join_batches(found: Mapping[str, Images]) -> OfficialSplit:
    batches = [found[name] for name in BATCHES if name != "test_batch"]
    joined = tuple(np.concatenate(part) for part in zip(*batches, strict=True))
    return OfficialSplit((joined[0], joined[1]), found["test_batch"])


def _check_md5(raw: bytes, name: str, expected: str) -> None:
    found = _digest_archive(raw, "md5")
    if found != expected:
        raise BostructError(f"{name}: its MD5 is {found}, but the official file has {expected}")


def _folder(folder: Path) -> Images:
    """Read images by class, in the order of the classes and of the file names."""
    images, labels = [], []
    names = sorted(one.name for one in folder.iterdir() if one.is_dir())
    if set(names) != set(CLASSES):
        raise DomainError(f"{folder}: expected folders {', '.join(CLASSES)}; got {', '.join(names) or 'none'}")
    for label, name in enumerate(CLASSES):
        for file in sorted((folder / name).iterdir()):
            if not file.name.startswith("."):  # files of file managers, such as .DS_Store
                images.append(_read_image(file))
                labels.append(label)
    if not images:
        raise DataMissing(f"{folder}: no images there")
    return np.stack(images), np.array(labels, dtype=np.int64)


def _read_image(file: Path) -> np.ndarray:
    """Return an image (3, 32, 32); raise DomainError for another size, before decoding it, and for other files."""
    pillow = optional_import("PIL.Image", "plot")
    try:
        with pillow.open(file) as image:
            if image.size != (32, 32):
                raise DomainError(
                    f"{file}: expected an image of 32 x 32 pixels, got {' x '.join(map(str, image.size))}"
                )
            return np.asarray(image.convert("RGB")).transpose(2, 0, 1)
    except (OSError, SyntaxError, EOFError, pillow.DecompressionBombError) as error:
        raise DomainError(f"{file}: expected an image of 32 x 32 pixels: {error}") from error


def _examples(images: np.ndarray, labels: np.ndarray) -> Examples:
    return Examples(torch.as_tensor(np.ascontiguousarray(images)), torch.as_tensor(labels, dtype=torch.int64))
