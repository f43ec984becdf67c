"""Read tables of trained networks from the files of their authors, as the arrays of bostruct's .npz files.

NAS-Bench-201: Dong and Yang 2020; NATS-Bench (topology): Dong et al. 2021; NAS-Bench-Macro: Su et al. 2021; FC-Net:
Klein and Hutter 2019.

The first files of NAS-Bench-201 (.pth) have the layout of its authors' nas_201_api 2.1. These files of torch.save
contain no tensors, and are read without torch, which needs 28 GB of memory for the 4.7 GB of the second file: unused
data of a training are dropped as soon as the training is read.

    python -m bostruct.problems.official NATS OUT.npz

writes the arrays of `read_nats`, which takes minutes for official files, to an .npz file for ``nasbench201``.
"""

from __future__ import annotations

import argparse
import bz2
import json
import math
import pickle
import re
import struct
import sys
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np

from bostruct.checks import optional_import, short_repr
from bostruct.contracts import Array, ParsedJson
from bostruct.domains.architecture.table import NB201_OPERATIONS
from bostruct.output_files import OutputRefused, check_output, sign_archive, write_output
from bostruct.problems.paths import check_regular, is_folder, is_regular

PTH = "NAS-Bench-201-v1_1-096897.pth"
TORCH_MAGIC = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."  # start of files of torch.save before torch 1.6
HEADERS = 3  # pickles before the object: magic number, version of the format, machine
BROKEN = (
    pickle.UnpicklingError, zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, LookupError, TypeError,
    ValueError, AttributeError, OverflowError, RuntimeError, MemoryError,
)  # fmt: skip  # errors of reading a damaged, truncated or encrypted file
Pickled: TypeAlias = Any  # content of a pickle
SCALAR: Pickled = np.float64(0).__reduce__()[0]  # NumPy's constructor of scalars from bytes

NATS_FILES = (
    "the folder NATS-tss-v1_0-3ffb9-simple or the file NATS-tss-v1_0-3ffb9.pickle.pbz2 of NATS-Bench, or the file "
    f"{PTH}"
)
MACRO_FILE = "nas-bench-macro_cifar10.json"
FCNET_FILES = "fcnet_*_data.hdf5 or a folder of them"
EPOCHS = 200
MAX_CURVE_VALUES = 1_000_000  # maximum number for one configuration; published are 4 trainings of 100 epochs
SETS = {  # name of a data set -> data set and part for validation, and for test
    "c10": (("cifar10-valid", "x-valid"), ("cifar10", "ori-test")),
    "c100": (("cifar100", "x-valid"), ("cifar100", "x-test")),
    "in16": (("ImageNet16-120", "x-valid"), ("ImageNet16-120", "x-test")),
}
ONE_ARCHITECTURE = re.compile(r"([0-9]+)\.pickle\.pbz2")
MAX_ACCURACY = float(np.finfo(np.float32).max)  # larger numbers would be infinite in the arrays
EDGE = re.compile(r"(\w+)~(\d)")
SOURCES = ("0", "01", "012")  # sources of the edges into each tensor, in the string of a cell


def is_nats(file: str | Path) -> bool:
    """Return whether a path is in a format of NATS-Bench, or a .pth file, the format of NAS-Bench-201."""
    return is_folder(file) or starts_with(file, b"BZh") or is_pth(file)


def is_json(file: str | Path) -> bool:
    """Return whether a file starts like JSON."""
    return starts_with(file, b"{", b"[")


def is_hdf5(file: str | Path) -> bool:
    """Return whether a path is a folder or an HDF5 file, the formats of FC-Net."""
    return is_folder(file) or starts_with(file, b"\x89HDF")


def starts_with(file: str | Path, *marks: bytes) -> bool:
    """Return whether a file starts with one of the marks, ignoring white space; False if it is not a file.

    marks: bytes to look for.
    """
    if not is_regular(file):
        return False
    with open(file, "rb") as stream:
        return stream.read(64).lstrip().startswith(marks)


def read_nats(file: str | Path) -> dict[str, np.ndarray]:
    """Read the arrays of ``nasbench201`` from NATS-Bench: a row for each architecture in the file, in its order.

    file: folder of pickles of one architecture each, or the pickle of all, or the .pth file of NAS-Bench-201.

    Validation accuracies are in the order of the seeds; test accuracies are means over the seeds. Raises ValueError.
    """
    found = [_parse_cell(results, f"file: {name}") for name, results in _architectures(Path(file))]
    if not found:
        raise ValueError(f"file: {file}: expected {NATS_FILES}, found no architecture")
    arrays: dict[str, np.ndarray] = {"edges": np.array([edges for edges, _, _ in found], dtype=np.uint8)}
    for short in SETS:
        rows = [validation[short] for _, validation, _ in found]
        padded = np.full((len(rows), max(map(len, rows))), np.nan, dtype=np.float32)
        for place, row in enumerate(rows):
            padded[place, : len(row)] = row
        arrays[f"{short}_val_200ep"] = padded
        arrays[f"{short}_test_200ep_mean"] = np.array([np.mean(test[short]) for _, _, test in found], dtype=np.float32)
    return arrays


def read_macro(file: str | Path) -> dict[str, np.ndarray]:
    """Read the arrays of ``nasbench-macro``.

    file: JSON, ``{"00000000": {"test_acc": [...], ...}, ...}``.

    Raises ValueError.
    """
    check_regular(f"file: {file}", file)
    try:
        stored: ParsedJson = json.loads(Path(file).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{_not_macro(file)}: {error}") from error
    if not isinstance(stored, dict) or not stored:
        raise ValueError(_not_macro(file))
    try:
        codes = np.array([[int(digit) for digit in code] for code in stored], dtype=np.uint8)
        accuracies = np.array([stored[code]["test_acc"] for code in stored], dtype=np.float64)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ValueError(_not_macro(file)) from error
    if not np.isfinite(accuracies).all():
        raise ValueError(f"{_not_macro(file)}, all of them finite")
    if codes.ndim != 2 or codes.shape[1] != 8 or accuracies.ndim != 2:
        raise ValueError(_not_macro(file))
    return {"arch": codes, "test_acc": accuracies}


def read_fcnet(file: str | Path, data: str) -> FCNetGrid:
    """Read validation errors after the last epoch from HDF5, with a group for each configuration, named by its JSON.

    file: ``fcnet_DATA_data.hdf5``, or the folder of such files.

    Values of a variable are in the order of the .npz files. Raises ValueError, MissingExtra without h5py.
    """
    path = _fcnet_path(Path(file), data)
    check_regular(f"file: {path}", path)
    h5py = optional_import("h5py", "tables")
    try:
        with h5py.File(path, "r") as stored:
            listed = [(json.loads(key), _last_errors(stored, key)) for key in stored]
    except (KeyError, TypeError, AttributeError, ValueError, OSError, RuntimeError, MemoryError) as error:
        raise ValueError(
            f"file: {path} is not an FC-Net file: expected groups named by the JSON of a configuration, with valid_mse "
            f"(trainings, epochs): {error}"
        ) from error
    return _grid_from_configs(path, listed)


class FCNetGrid(NamedTuple):
    """A table of errors over a grid of configurations."""

    variables: tuple[tuple[str, tuple[object, ...]], ...]
    errors: Array


def _latin(text: str, encoding: str) -> bytes:
    """Return bytes that protocol 2 stores as text."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"it uses the encoding {encoding!r}")
    return text.encode("latin1")


HARMLESS: dict[tuple[str, str], Callable[..., object]] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("__builtin__", "set"): set,
    ("builtins", "set"): set,
    ("_codecs", "encode"): _latin,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "scalar"): SCALAR,
    ("numpy._core.multiarray", "scalar"): SCALAR,
}


def harmless(module: str, name: str) -> Callable[..., object]:
    """Return a callable that a pickle of numbers may use; raise UnpicklingError for others, before they run."""
    if (module, name) not in HARMLESS:
        raise pickle.UnpicklingError(f"it uses {module}.{name}, which a table of numbers does not need")
    return HARMLESS[module, name]


def is_pth(file: str | Path) -> bool:
    """Return whether a path is a file of torch.save, before torch 1.6 or since."""
    path = Path(file)
    if not is_regular(path):
        return False
    with open(path, "rb") as stream:
        return stream.read(len(TORCH_MAGIC)) == TORCH_MAGIC or _member(path) is not None


def architectures(path: Path) -> Iterator[tuple[str, Pickled]]:
    """Yield a name for messages, and the results by number of epochs, of each architecture in order of its index.

    The results of a training are ``epochs`` and the last epoch of ``eval_acc1es``.

    Raises ValueError.
    """
    check_regular(f"file: {path}", path)
    try:
        with _pickle(path) as stream:
            stored = _LastEpochs(stream).load()
    except BROKEN as error:
        raise ValueError(f"file: {path} is not a file of NAS-Bench-201: {error}") from error
    found = stored.get("arch2infos") if isinstance(stored, dict) else None
    if not isinstance(found, dict) or not all(isinstance(index, int) for index in found):
        raise ValueError(f"file: {path} has no results of architectures (arch2infos); expected {PTH}")
    for index in sorted(found):
        infos = found[index]
        yield f"{path}: architecture {index}", {"200": infos.get("full") if isinstance(infos, dict) else None}


@contextmanager
def _pickle(path: Path) -> Iterator[IO[bytes]]:
    """Open the file at the start of the object's pickle."""
    if (member := _member(path)) is not None:
        with zipfile.ZipFile(path) as archive, archive.open(member) as stream:
            yield stream
        return
    with open(path, "rb") as stream:
        for _ in range(HEADERS):
            _LastEpochs(stream).load()
        yield stream


def _member(path: Path) -> str | None:
    """Return the name of the object's pickle in an archive of torch.save since 1.6; None for other files."""
    try:
        with zipfile.ZipFile(path) as archive:
            return next((name for name in archive.namelist() if name.endswith("/data.pkl")), None)
    except zipfile.BadZipFile:
        return None


class _LastEpochs:
    """An unpickler of containers and numbers of protocol 2, which keeps only the last accuracies of each training.

    pickle's own unpickler keeps all objects until its end, because later parts may refer to them. This one deletes the
    curves of a training and the names of their epochs at the end of the training; a later reference is an error.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._read = stream.read
        self._readline = stream.readline
        self._stack: list[Pickled] = []
        self._marks: list[int] = []
        self._memo: dict[int, Pickled] = {}
        self._temporary: list[int] = []  # positions in the memo that belong to the current training
        self._steps = self._instructions()

    def load(self) -> Pickled:
        """Return the object of the next pickle; raises UnpicklingError."""
        read, steps = self._read, self._steps
        while (code := read(1)) != pickle.STOP:
            if code not in steps:
                what = f"the instruction {code!r}, which a table of numbers does not need" if code else "no end"
                raise pickle.UnpicklingError(f"it has {what}")
            steps[code]()
        return self._stack.pop()

    def _instructions(self) -> dict[bytes, Callable[[], object]]:
        stack, push, pop = self._stack, self._stack.append, self._stack.pop
        byte, word = self._number("<B"), self._number("<I")
        double, integer, short = self._number(">d"), self._number("<i"), self._number("<H")
        return {
            pickle.PROTO: byte,
            pickle.MARK: lambda: self._marks.append(len(stack)),
            pickle.NONE: lambda: push(None),
            pickle.NEWTRUE: lambda: push(True),
            pickle.NEWFALSE: lambda: push(False),
            pickle.BINFLOAT: lambda: push(double()),
            pickle.BININT: lambda: push(integer()),
            pickle.BININT1: lambda: push(byte()),
            pickle.BININT2: lambda: push(short()),
            pickle.LONG1: lambda: push(int.from_bytes(self._read(byte()), "little", signed=True)),
            pickle.BINUNICODE: lambda: push(str(self._read(word()), "utf-8")),
            pickle.EMPTY_DICT: lambda: push({}),
            pickle.EMPTY_LIST: lambda: push([]),
            pickle.EMPTY_TUPLE: lambda: push(()),
            pickle.TUPLE: lambda: push(tuple(self._pop_to_mark())),
            pickle.TUPLE1: lambda: push((pop(),)),
            pickle.TUPLE2: lambda: push((pop(-2), pop())),
            pickle.TUPLE3: lambda: push((pop(-3), pop(-2), pop())),
            pickle.APPEND: lambda: stack[-2].append(pop()),
            pickle.APPENDS: lambda: self._extend(self._pop_to_mark()),
            pickle.SETITEM: lambda: self._update([pop(-2), pop()]),
            pickle.SETITEMS: lambda: self._update(self._pop_to_mark()),
            pickle.BINPUT: lambda: self._remember(byte()),
            pickle.LONG_BINPUT: lambda: self._remember(word()),
            pickle.BINGET: lambda: push(self._recall(byte())),
            pickle.LONG_BINGET: lambda: push(self._recall(word())),
            pickle.GLOBAL: lambda: push(harmless(self._line(), self._line())),
            pickle.REDUCE: lambda: push(pop(-2)(*pop())),
            pickle.BUILD: lambda: self._build(pop()),
        }

    def _number(self, form: str) -> Callable[[], Pickled]:
        read, size, unpack = self._read, struct.calcsize(form), struct.Struct(form).unpack
        return lambda: unpack(read(size))[0]

    def _line(self) -> str:
        return self._readline()[:-1].decode("ascii")

    def _pop_to_mark(self) -> list[Pickled]:
        """Pop the items of the stack since the last mark, and return them."""
        start = self._marks.pop()
        found = self._stack[start:]
        del self._stack[start:]
        return found

    def _extend(self, items: list[Pickled]) -> None:
        self._stack[-1].extend(items)

    def _update(self, items: list[Pickled]) -> None:
        """Add items, alternating keys and values, to the dict on the stack.

        The dict of a training gets all items in one call.
        """
        one = self._stack[-1]
        one.update(zip(items[::2], items[1::2], strict=True))
        if "eval_acc1es" in one:
            last = f"@{int(one['epochs']) - 1}"
            accuracies = {sys.intern(name): value for name, value in one["eval_acc1es"].items() if name.endswith(last)}
            kept = {"epochs": one["epochs"], "eval_acc1es": accuracies}
            one.clear()
            one.update(kept)
            for place in self._temporary:
                self._memo.pop(place, None)
            self._temporary.clear()

    def _build(self, state: Pickled) -> None:
        one = self._stack[-1]
        if not isinstance(one, np.dtype):
            raise pickle.UnpicklingError(f"it sets the state of {type(one).__name__}, which numbers do not need")
        one.__setstate__(state)  # type: ignore[attr-defined]

    def _remember(self, place: int) -> None:
        one = self._stack[-1]
        self._memo[place] = one
        if isinstance(one, dict | list | bytes | np.generic) or (isinstance(one, str) and "@" in one):
            self._temporary.append(place)

    def _recall(self, place: int) -> Pickled:
        if place not in self._memo:
            raise pickle.UnpicklingError("it refers to data of an earlier training, which are deleted by then")
        return self._memo[place]


class _NumbersUnpickler(pickle.Unpickler):
    """An unpickler of containers and numbers; a pickle with anything else is rejected before it can run code."""

    def find_class(self, module: str, name: str) -> Pickled:
        return harmless(module, name)


def _last_errors(stored: Pickled, key: str) -> Array:
    """Return the errors after the last epoch of a configuration (trainings,)."""
    h5py = optional_import("h5py", "tables")
    place = f"{short_repr(key, 100)}/valid_mse"
    curves = stored
    for name in (key, "valid_mse"):
        if not isinstance(curves, h5py.Group) or not _is_hard_link(curves, name):
            raise ValueError(f"{place} is missing, or a link to another place")
        curves = curves[name]
    if not isinstance(curves, h5py.Dataset) or curves.external or curves.is_virtual:
        raise ValueError(f"{place} is external or virtual, not data of this file")
    if curves.ndim != 2 or curves.dtype.kind not in "iuf" or not 0 < curves.size <= MAX_CURVE_VALUES:
        raise ValueError(f"{place} is {curves.dtype} of shape {curves.shape}")
    with np.errstate(over="ignore"):  # numbers too large for float64 become infinite, and are rejected later
        return curves[:, -1].astype(np.float64)


def _is_hard_link(group: Pickled, name: str) -> bool:
    """Return whether a name is a hard link, to data of this file; `get` and `in` of a group would follow any link."""
    h5py = optional_import("h5py", "tables")
    links, stored_name = group.id.links, name.encode("utf-8", "surrogateescape")
    return links.exists(stored_name) and links.get_info(stored_name).type == h5py.h5l.TYPE_HARD


def _architectures(path: Path) -> Iterator[tuple[str, Pickled]]:
    """Yield a name for messages, and the results by number of epochs, of each architecture in order of its index."""
    if is_folder(path):
        # other files are not architectures: meta.pickle.pbz2, or a copy such as 1-backup.pickle.pbz2
        numbered = {int(named[1]): one for one in path.iterdir() if (named := ONE_ARCHITECTURE.fullmatch(one.name))}
        for _, one in sorted(numbered.items()):
            yield str(one), _unpickle_nats(one)
        return
    if is_pth(path):
        yield from architectures(path)
        return
    stored = _unpickle_nats(path)
    found = stored.get("arch2infos") if isinstance(stored, dict) else None
    if not isinstance(found, dict) or not all(isinstance(index, int) for index in found):
        raise ValueError(f"file: {path} has no results of architectures (arch2infos); expected {NATS_FILES}")
    for index in sorted(found):
        yield f"{path}: architecture {index}", found[index]


def _unpickle_nats(path: Path) -> Pickled:
    check_regular(f"file: {path}", path)
    try:
        with bz2.open(path, "rb") as stream:
            return _NumbersUnpickler(stream).load()
    except BROKEN as error:
        raise ValueError(f"file: {path} is not a pickle of NATS-Bench: {error}") from error


def _parse_cell(results: Pickled, place: str) -> tuple[tuple[int, ...], dict[str, list[float]], dict[str, list[float]]]:
    """Return the operations on the edges, and validation and test accuracies of each data set, by seed."""
    try:
        trained = results[str(EPOCHS)]
        edges = _parse_edges(trained["arch_str"])
        validation, test = (
            {short: _seed_accuracies(trained["all_results"], *SETS[short][part]) for short in SETS} for part in (0, 1)
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{place}: expected trainings of {EPOCHS} epochs on all data sets of NATS-Bench") from error
    except OverflowError as error:
        raise ValueError(f"{place}: expected finite numbers of epochs and accuracies: {error}") from error
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error
    return edges, validation, test


def _seed_accuracies(results: Pickled, data: str, part: str) -> list[float]:
    """Return accuracies in percent after the last epoch, in the order of the seeds."""
    found = {seed: results[name, seed] for name, seed in results if name == data}
    if not found:
        raise KeyError(data)
    last = [float(found[seed]["eval_acc1es"][f"{part}@{int(found[seed]['epochs']) - 1}"]) for seed in sorted(found)]
    if too_large := [value for value in last if abs(value) > MAX_ACCURACY]:
        raise ValueError(f"expected accuracies in percent, got {too_large[0]} for {data}")
    return last


def _parse_edges(text: str) -> tuple[int, ...]:
    """Return the codes of ``|op~0|+|op~0|op~1|+|op~0|op~1|op~2|``; raises ValueError."""
    parts = [EDGE.findall(part) for part in str(text).split("+")]
    if tuple("".join(source for _, source in part) for part in parts) != SOURCES:
        raise ValueError(f"expected a cell |op~0|+|op~0|op~1|+|op~0|op~1|op~2|, got {short_repr(text)}")
    names = [name for part in parts for name, _ in part]
    if unknown := [name for name in names if name not in NB201_OPERATIONS]:
        raise ValueError(f"expected operations of {', '.join(NB201_OPERATIONS)}; got {unknown[0]}")
    return tuple(map(NB201_OPERATIONS.index, names))


def _not_macro(file: str | Path) -> str:
    return f'file: {file} is not {MACRO_FILE}: expected {{"8 digits": {{"test_acc": [accuracies], ...}}, ...}}'


def _fcnet_path(path: Path, data: str) -> Path:
    name = f"fcnet_{data}_data.hdf5"
    if is_folder(path):
        if not is_regular(path / name):
            raise ValueError(f"file: {path}: expected {name} in this folder")
        return path / name
    if (official := re.fullmatch(r"fcnet_(\w+)_data\.hdf5", path.name)) and official[1] != data:
        raise ValueError(f"data: {path.name} has {official[1]}; expected data={official[1]}, got {data}")
    return path


def _grid_from_configs(path: Path, listed: Sequence[tuple[ParsedJson, Array]]) -> FCNetGrid:
    """Return the grid of all configurations; raise ValueError unless each occurs once, with equally many trainings."""
    names = sorted(listed[0][0]) if listed and isinstance(listed[0][0], dict) else []
    if not names or any(not isinstance(config, dict) or sorted(config) != names for config, _ in listed):
        raise ValueError(f"file: {path}: expected configurations of the same variables, named by their JSON")
    try:
        variables = tuple((name, _axis_values(name, {config[name] for config, _ in listed})) for name in names)
    except TypeError as error:
        raise ValueError(f"file: {path}: expected the values of a variable to be all numbers or all strings") from error
    shape = tuple(len(values) for _, values in variables)
    trainings = {len(errors) for _, errors in listed}
    if math.prod(shape) != len(listed) or len(trainings) != 1:
        raise ValueError(
            f"file: {path}: expected {math.prod(shape)} configurations, every combination of values, with equally many "
            f"trainings; got {len(listed)}, with {', '.join(map(str, sorted(trainings)))} trainings"
        )
    place = [{value: index for index, value in enumerate(values)} for _, values in variables]
    errors = np.full((*shape, trainings.pop()), np.nan)
    for config, own in listed:
        errors[tuple(index[config[name]] for name, index in zip(names, place, strict=True))] = own
    return FCNetGrid(variables, errors)


def _axis_values(name: str, values: set[ParsedJson]) -> tuple[object, ...]:
    """Return the values of an axis in increasing order, schedules in decreasing order, as in the .npz files."""
    return tuple(sorted(values, reverse=name == "lr_schedule"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description="NATS-Bench (topology), or NAS-Bench-201, as an .npz file for the problem nasbench201"
    )
    parser.add_argument("nats", type=Path, metavar="NATS")
    parser.add_argument("out", type=Path, metavar="OUT.npz")
    parser.add_argument("--overwrite", action="store_true", help="replace a file that bostruct did not write")
    given = parser.parse_args()
    try:
        check_output(given.out, "archive", overwrite=given.overwrite, inputs=[str(given.nats)])
        arrays, packed = read_nats(given.nats), BytesIO()
        np.savez_compressed(packed, **arrays)  # type: ignore[arg-type]
        write_output(given.out, sign_archive(packed), "archive", overwrite=given.overwrite)
    except OutputRefused as error:
        parser.error(str(error).replace("overwrite=True", "--overwrite"))
    except (ValueError, OSError) as error:
        sys.exit(str(error))
    print(f"{len(arrays['edges'])} architectures in {given.out}")


if __name__ == "__main__":
    main()
