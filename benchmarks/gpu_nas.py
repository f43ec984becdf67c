"""COMBO's cells on a GPU: milliseconds per step, one evaluation, shares of the device's limits, a short search.

    python -m benchmarks.gpu_nas [--data FOLDER] [--output FILE] [--minutes 9] [--miniature]

--data: CIFAR-10 as `bostruct.nas.cifar` reads it; without it, random images of the same shape are used. Without CUDA,
everything runs on the CPU, with small sizes that do not measure speed (--miniature). Each section ends when its time is
up. The results so far are printed as a table and written to the file, which is updated after every section.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

import bostruct as bo
from bostruct.nas import Dataset, Examples, NetworkObjective, Recipe, Trained, cifar10
from bostruct.nas.cifar import MEAN, SCALE
from bostruct.nas.devices import WARM_UP, DeviceContext
from bostruct.nas.objectives import build_network
from bostruct.nas.recipes import COMBO
from bostruct.nas.spaces.combo_cell import ComboObjective, bits_space, decode_bits, program_of
from bostruct.nas.training import Clock, Training, TrainingJob, train_together

MEAN_CELL = 17.9e6  # multiplications with additions of a forward pass, the mean over random cells that have a path
ASKED = 20.0  # target seconds of an evaluation
WINDOWS = {(1, 0): 9, (1, 1): 25}  # of the convolutions, by type and size of a node
SHAPE, FILTERS = (3, 32, 32), (16, 32, 64)
PASSES = 3  # forward passes that cost as much as a step, whose backward pass costs two
STREAMS = (1, 4, 8)


class Sizes(NamedTuple):
    """steps: number of timed steps. matmul: rows of the matrices. copied: bytes. epochs: of the evaluation."""

    train: int
    held: int
    batch: int
    steps: int
    matmul: int
    copied: int
    epochs: int
    repeats: int
    trials: int
    search_epochs: int


FULL = Sizes(40_000, 10_000, 100, 200, 8_192, 2**31, 20, 4, 20, 3)
MINIATURE = Sizes(60, 20, 10, 2, 256, 2**22, 1, 2, 3, 1)


@dataclass
class Bench:
    """The inputs of every section. deadline: by the monotonic clock. found: the results of the sections so far."""

    data: Dataset
    device: str
    sizes: Sizes
    deadline: float
    found: dict[str, Any]

    def seconds_left(self) -> float:
        return self.deadline - time.monotonic()

    def wait(self) -> None:
        """Wait until the device has finished all of its work."""
        if self.device == "cuda":
            torch.cuda.synchronize()

    def recipe(self, epochs: int) -> Recipe:
        return replace(COMBO, epochs=epochs, batch_size=self.sizes.batch)


def eager(device: torch.device, seed: int, *, with_graphs: bool = False) -> DeviceContext:
    """Return a context without graphs, the fallback of `DeviceContext`."""
    del with_graphs
    return DeviceContext(device, seed, with_graphs=False)


MakeContext = Callable[[torch.device, int], DeviceContext]
KINDS: dict[str, MakeContext] = {"eager": eager, "graph": DeviceContext}


def multiplications(bits: list[int]) -> int:
    """Return the multiplications (with additions) of a forward pass of one image in convolutions and the last layer."""
    kernels = [WINDOWS.get(node.kind, 0) for node in decode_bits(bits)]
    total, channels, area = 0, 3, 32 * 32
    for width in FILTERS:
        total += area * width * (channels * (9 if width == FILTERS[0] else 1) + width * sum(kernels))
        channels, area = width, area // 4
    return total + area * channels * 10


def mean_cell(draws: int = 2_000) -> list[int]:
    """Return the random cell with a path that is nearest to the mean, always the same; of equal cells, the first drawn.

    The nearest has one 5 x 5 convolution, 20.4 million; the next below has two 3 x 3 convolutions, 14.9 million.
    """
    best, least_gap = [1] * 31, float("inf")
    for bits in np.random.default_rng(0).integers(2, size=(draws, 31)).tolist():
        try:
            gap = abs(multiplications(bits) - MEAN_CELL)
        except bo.Infeasible:
            continue
        if gap < least_gap:
            best, least_gap = bits, gap
    return best


def synthetic(sizes: Sizes) -> Dataset:
    """Return images of the shape of CIFAR-10, in bytes: noise around a pattern for each of ten classes."""
    random = np.random.default_rng(0)
    patterns = random.integers(64, 192, size=(10, *SHAPE))

    def part(n: int) -> Examples:
        labels = random.integers(10, size=n)
        images = np.clip(patterns[labels] + random.normal(0.0, 60.0, size=(n, *SHAPE)), 0, 255).astype(np.uint8)
        return Examples(torch.as_tensor(images), torch.as_tensor(labels))

    parts = (part(sizes.train), part(sizes.held), part(sizes.held))
    return Dataset("synthetic", "classification", *parts, 10, MEAN, SCALE)


def peaks(bench: Bench) -> dict[str, float]:
    """Return FLOPs per second of a large matrix product, bfloat16 on a GPU, and bytes per second of a copy."""
    n, number = bench.sizes.matmul, torch.bfloat16 if bench.device == "cuda" else torch.float32
    a, b = (torch.randn(n, n, device=bench.device).to(number) for _ in range(2))
    source = torch.ones(bench.sizes.copied, dtype=torch.uint8, device=bench.device)
    target = torch.empty_like(source)
    product = _seconds(bench, lambda: torch.matmul(a, b))
    copy = _seconds(bench, lambda: target.copy_(source))
    return {"flops_per_second": 2 * n**3 / product, "bytes_per_second": 2 * bench.sizes.copied / copy}


def _seconds(bench: Bench, call: Callable[[], Any], times: int = 20) -> float:
    """Return the seconds of one call, the median over rounds after a warm-up call."""
    call()
    rounds = []
    for _ in range(5):
        bench.wait()
        began = time.perf_counter()
        for _ in range(times):
            call()
        bench.wait()
        rounds.append((time.perf_counter() - began) / times)
    return statistics.median(rounds)


def steps(bench: Bench) -> dict[str, Any]:
    """Return milliseconds per step, and per step and training, of both cells: eager, and replayed on streams."""
    found: dict[str, Any] = {}
    for name, bits in (("mean", mean_cell()), ("maximum", [1] * 31)):
        module = program_of(bits).to_torch((2, *SHAPE))
        found[name] = {
            "bits": "".join(map(str, bits)),
            "multiplications": multiplications(bits),
            "bytes_per_step": traffic(module, bench.sizes.batch, 2 if bench.device == "cuda" else 4),
        }
        for kind, streams in (("eager", 1), *(("graph", streams) for streams in STREAMS)):
            if bench.seconds_left() < 0.0:
                found[name]["skipped"] = "out of time"
                break
            milliseconds = step_milliseconds(bench, bits, KINDS[kind], streams)
            found[name][f"{kind}_{streams}"] = {"step_ms": milliseconds, "per_training_ms": milliseconds / streams}
    return found


def step_milliseconds(bench: Bench, bits: list[int], kind: MakeContext, streams: int) -> float:
    """Return the milliseconds of one step of all trainings together, without captures and warm-up."""
    network, recipe = program_of(bits), bench.recipe(1_000)
    contexts = [kind(torch.device(bench.device), seed) for seed in range(streams)]
    trainings = []
    warm = min(10, len(bench.data.train) // recipe.batch_size - bench.sizes.steps - 1)
    for seed, context in enumerate(contexts):
        job = TrainingJob(lambda: build_network(network, bench.data, 0.0), seed)
        with context.activate():
            trainings.append(Training(job, bench.data, recipe, context, Clock()))
            for position in range(warm):
                trainings[-1].train_batch(position)
    bench.wait()
    began = time.perf_counter()
    for position in range(warm, warm + bench.sizes.steps):
        for context, training in zip(contexts, trainings, strict=True):
            with context.activate():
                training.train_batch(position)
    bench.wait()
    return (time.perf_counter() - began) / bench.sizes.steps * 1e3


def captures(bench: Bench) -> dict[str, float]:
    """Return the milliseconds that a training of the mean cell takes until its first replay has ended.

    These are the warm-up steps, the capture, and the replay. An earlier training had the same shapes, as most trainings
    of a search have.
    """
    network, recipe = program_of(mean_cell()), bench.recipe(1_000)
    context = DeviceContext(torch.device(bench.device), 0)
    job = TrainingJob(lambda: build_network(network, bench.data, 0.0), 0)
    with context.activate():
        training = Training(job, bench.data, recipe, context, Clock())
        bench.wait()
        began = time.perf_counter()
        for position in range(WARM_UP + 1):
            training.train_batch(position)
        bench.wait()
    return {"first_replay_ms": (time.perf_counter() - began) * 1e3}


def traffic(module: nn.Module, batch: int, width: int) -> int:
    """Return an estimate of the bytes that a step moves.

    It counts the reads and writes of every leaf module three times (forward, gradients of inputs, gradients of weights)
    in numbers of `width` bytes, and those of Adam in numbers of 4 bytes: Adam reads weights, gradients and two moments
    and writes weights and moments. The estimate is no bound: the backward passes of activations and pools move less,
    indices of maxima are not counted, and data in the L2 cache (50 MB on an H200, a layer here has 3 or less) is not
    read from memory, so that shares of a copy's speed above 1 are possible.
    """
    numbers = 0

    def note(_: nn.Module, inputs: Any, output: Any) -> None:
        nonlocal numbers
        for one in (*inputs, output):
            numbers += one.numel() if isinstance(one, torch.Tensor) else 0

    hooks = [one.register_forward_hook(note) for one in module.modules() if not list(one.children())]
    module.eval()
    with torch.no_grad():
        module(torch.zeros(1, *SHAPE))
    for hook in hooks:
        hook.remove()
    weights = sum(one.numel() for one in module.parameters())
    return PASSES * width * (batch * numbers + weights) + 7 * 4 * weights


def shares(bench: Bench) -> dict[str, Any]:
    """Return the shares of the measured peaks for each kind of steps: arithmetic from 0 to 1; memory, see `traffic`."""
    limits, found = bench.found["peaks"], {}
    for name, cell in bench.found["steps"].items():
        flops = 2 * PASSES * bench.sizes.batch * cell["multiplications"]
        for way, one in cell.items():
            if isinstance(one, dict):
                seconds = one["per_training_ms"] / 1e3
                found[f"{name}_{way}"] = {
                    "arithmetic": flops / seconds / limits["flops_per_second"],
                    "memory": cell["bytes_per_step"] / seconds / limits["bytes_per_second"],
                }
    return found


def evaluation(bench: Bench) -> dict[str, Any]:
    """Time COMBO's evaluation of the mean cell: its recipe, its repeats, the best epoch of each."""
    recipe, cell = bench.recipe(bench.sizes.epochs), program_of(mean_cell())
    builds = [lambda: build_network(cell, bench.data, 0.0)] * bench.sizes.repeats
    began = time.perf_counter()
    trainings = train_together(
        builds, bench.data, recipe, range(bench.sizes.repeats), device=bench.device, deadline=bench.deadline
    )
    seconds = time.perf_counter() - began
    return {
        "seconds": seconds,
        "asked": ASKED,
        "repeats": bench.sizes.repeats,
        "errors": [one.error if isinstance(one, Trained) else str(one) for one in trainings],
        "epochs": [len(one.epochs) if isinstance(one, Trained) else 0 for one in trainings],
    }


def search(bench: Bench) -> dict[str, Any]:
    """Run `auto` over the 31 bits, with few epochs and one training per evaluation."""
    recipe = bench.recipe(bench.sizes.search_epochs)

    def objective(point: Any) -> float:
        left = max(bench.seconds_left(), 1.0)  # seconds; an evaluation may use all time of the section
        return ComboObjective(NetworkObjective(bench.data, recipe, device=bench.device, seconds=left))(point)

    def stop(study: bo.Study, _: Any) -> None:
        if bench.seconds_left() < 0.0:
            study.stop("out of time")

    began = time.perf_counter()
    study = bo.Study(bits_space(), method="auto", seed=0)
    study.optimize(objective, bench.sizes.trials, progress=False, callbacks=stop)
    values = [trial.value for trial in study.trials if trial.value is not None]
    return {
        "seconds": time.perf_counter() - began,
        "asked": bench.sizes.trials,
        "evaluations": len(study.trials),
        "failed": [trial.reason for trial in study.trials if trial.status == "failed"],
        "first": values[0] if values else None,
        "best": min(values, default=None),
    }


# Each with the largest share of the remaining time that it may take.
SECTIONS: dict[str, tuple[Callable[[Bench], dict[str, Any]], float]] = {
    "peaks": (peaks, 0.15),
    "steps": (steps, 0.4),
    "captures": (captures, 0.1),
    "shares": (shares, 0.1),
    "evaluation": (evaluation, 0.5),
    "search": (search, 0.9),
}


def measure_all(data: Dataset, device: str, sizes: Sizes, seconds: float, output: Path | None) -> dict[str, Any]:
    """Run all sections one after the other, and return their results; the error of a failed section is its result."""
    end = time.monotonic() + seconds
    found: dict[str, Any] = {
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "torch": torch.__version__,
        "data": data.name,
        "sizes": sizes._asdict(),
    }
    for name, (section, share) in SECTIONS.items():
        now = time.monotonic()
        try:
            found[name] = section(Bench(data, device, sizes, now + share * (end - now), found))
        except Exception as error:  # the other sections still run: a device is available for minutes only
            found[name] = {"error": repr(error), "where": traceback.format_exc().splitlines()[-8:]}
        found.setdefault("section_seconds", {})[name] = time.monotonic() - now
        if output is not None:
            output.parent.mkdir(parents=True, exist_ok=True)
            output.write_text(json.dumps(found, indent=1) + "\n")
    return found


def table(found: dict[str, Any]) -> str:
    """Return the results in Markdown."""
    rows = ["| what | measured |", "|---|---|"]
    rows += [f"| {name}: {text} |" for name, text in _lines(found)]
    return "\n".join(rows)


def _lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    failed = [(name, f"failed | {found[name]['error']}") for name in SECTIONS if "error" in found[name]]
    lines: list[tuple[str, str]] = []
    if "error" not in (limits := found["peaks"]):
        lines.append(("peak", f"matrix product, TFLOP/s | {limits['flops_per_second'] / 1e12:.2f}"))
        lines.append(("peak", f"copy, GB/s | {limits['bytes_per_second'] / 1e9:.0f}"))
    for name, cell in found["steps"].items() if "error" not in found["steps"] else ():
        title = f"{name} cell ({cell['multiplications'] / 1e6:.1f} M multiplications)"
        for way, one in cell.items():
            if isinstance(one, dict):
                share = found["shares"].get(f"{name}_{way}", {"arithmetic": float("nan"), "memory": float("nan")})
                text = f"{one['step_ms']:.3f} ({one['per_training_ms']:.3f} a training); "
                text += f"{share['arithmetic']:.1%} of arithmetic, {share['memory']:.1%} of memory traffic"
                lines.append((title, f"{way.replace('_', ', streams ')}, ms a step | {text}"))
    if "error" not in (one := found["captures"]):
        lines.append(("captures", f"ms until the first replay has ended | {one['first_replay_ms']:.1f}"))
    if "error" not in (one := found["evaluation"]):
        lines.append(("evaluation", f"seconds, {one['repeats']} repeats ({ASKED:.0f} asked) | {one['seconds']:.1f}"))
        lines.append(("evaluation", f"errors | {', '.join(map(_short, one['errors']))}"))
    if "error" not in (one := found["search"]):
        lines.append(("search", f"evaluations ({one['asked']} asked) | {one['evaluations']} in {one['seconds']:.1f} s"))
        lines.append(("search", f"first and best value | {_short(one['first'])}, {_short(one['best'])}"))
    return lines + failed


def _short(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", help="CIFAR-10, as bostruct.nas.cifar reads it")
    parser.add_argument("--output", type=Path, default=Path("out/gpu_nas.json"), help="file of the results, JSON")
    parser.add_argument("--minutes", type=float, default=9.0, help="limit for all sections together")
    parser.add_argument(
        "--miniature", action="store_true", default=not torch.cuda.is_available(), help="small sizes, seconds on a CPU"
    )
    given = parser.parse_args(arguments)
    sizes = MINIATURE if given.miniature else FULL
    device = "cuda" if torch.cuda.is_available() else "cpu"
    data = cifar10(given.data, sizes.train, sizes.held) if given.data else synthetic(sizes)
    found = measure_all(data, device, sizes, 60.0 * given.minutes, given.output)
    kind = ", miniature: sizes that do not measure speed" if given.miniature else ""
    print(f"{found['device']}, torch {found['torch']}, data: {data.name}{kind}\n")
    if not given.data:
        print("The images are random, not CIFAR-10's: times are those of CIFAR-10, errors are not.\n")
    print(table(found))


if __name__ == "__main__":
    main()
