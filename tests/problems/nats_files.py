"""Miniatures of the official files of NAS-Bench-201 and NATS-Bench: numbers that tell where they were read."""

from __future__ import annotations

import bz2
import collections
import pickle
from pathlib import Path

import numpy as np

OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")


CODES = np.array([[3, 0, 2, 0, 0, 4], [3, 1, 2, 0, 0, 4], [0, 0, 0, 1, 0, 0], [2, 2, 2, 2, 2, 2]], dtype=np.uint8)


SEEDS = {"cifar10-valid": (777, 888, 999), "cifar10": (777, 888), "cifar100": (888,), "ImageNet16-120": (999, 777)}


PARTS = {
    "cifar10-valid": ("x-valid", "ori-test"),
    "cifar10": ("ori-test",),
    "cifar100": ("x-valid", "x-test", "ori-test"),
    "ImageNet16-120": ("x-valid", "x-test", "ori-test"),
}


def cell_string(code):
    names = [OPERATIONS[number] for number in code]
    return f"|{names[0]}~0|+|{names[1]}~0|{names[2]}~1|+|{names[3]}~0|{names[4]}~1|{names[5]}~2|"


def accuracy(index, epochs, data, seed, part, epoch):
    """Of a training: a different number in every place, which tells where a value was read."""
    return float(np.float32(index + seed / 1e3 + len(data) / 7 + len(part) / 11 + (epoch + 1) / epochs / 13))


def nats_training(index, epochs, data, seed):
    last = epochs - 1
    unread = {"name": "infer.tiny", "params": np.float64(0.8), "flop": 113.9, "latency": [0.01], "net_state_dict": None}
    return unread | {
        "seed": f"{seed:04d}",
        "epochs": epochs,
        "train_acc1es": {last: 99.0},
        "train_times": collections.OrderedDict({last: 1.0}),
        "eval_names": list(PARTS[data]),
        "eval_acc1es": {
            f"{part}@{epoch}": np.float64(accuracy(index, epochs, data, seed, part, epoch))
            for part in PARTS[data]
            for epoch in (0, last)
        },
    }


def nats_results(index, seeds=SEEDS, text=None):
    """What a pickle of one architecture of NATS-Bench holds, by number of epochs."""

    def held(epochs):  # nothing that another number of epochs holds, too: files of torch must not refer to each other
        return {
            "arch_index": index,
            "arch_str": cell_string(CODES[index]) if text is None else text,
            "all_results": {
                (data, s): nats_training(index, epochs, data, s) for data, own in seeds.items() for s in own
            },
            "dataset_seed": {data: list(own) for data, own in seeds.items()},
            "clear_net_done": True,
        }

    return collections.OrderedDict((str(epochs), held(epochs)) for epochs in (12, 200))


def pickled(path: Path, what) -> Path:
    with bz2.open(path, "wb") as stream:
        pickle.dump(what, stream, protocol=4)
    return path


def first_file(results):
    """What the files of NAS-Bench-201 hold: 12 epochs are `less`, 200 are `full`."""
    infos = {index: {"full": own["200"], "less": own["12"]} for index, own in results.items()}
    archs = [own["200"]["arch_str"] for own in results.values()]
    return {"meta_archs": archs, "total_archs": len(archs), "arch2infos": infos, "evaluated_indexes": set(results)}


def all_results():
    """What the files of the fixture `nats` hold: the second architecture has a training less."""
    return {i: nats_results(i, SEEDS | {"cifar10-valid": (999, 777)} if i == 1 else SEEDS) for i in range(len(CODES))}


class Trap:
    """Makes a file where it is read by a pickle that trusts it."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self):
        return (self.place.touch, ())
