"""Steps that a GPU replays: nothing in them is frozen that should change, and trainings do not disturb each other."""

from __future__ import annotations

import gc
import weakref
from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

import bostruct as bo
from bostruct.nas import Dataset, TrainingFailed, diabetes, digits, to_torch, train
from bostruct.nas.checkpoints import load_checkpoint, save_checkpoint
from bostruct.nas.data import Examples
from bostruct.nas.devices import WAITS, WARM_UP, CaptureFailed, Place, Repeated, check_device, memory_reason, tuned
from bostruct.nas.recipes import FAST, Recipe
from bostruct.nas.residency import fraction_of, resident
from bostruct.nas.steps import Batches
from bostruct.nas.training import Run, Trained, Training, optimizer_of

CPU = torch.device("cpu")
QUICK = replace(FAST, epochs=3, batch_size=32)
PERCEPTRON = bo.Architecture.chain("relu-16 linear")
CONVOLUTION = bo.Architecture.chain("conv3-8 res3-8/2 softmax")


class Recorder(TorchDispatchMode):
    """Operations on tensors with their arguments, numbers frozen and tensors by reference: what a CUDA graph keeps."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        given = func(*args, **(kwargs or {}))
        self.calls.append((func, args, kwargs or {}, given))
        return given

    def replay(self):
        made = {}

        def now(x):
            return made.get(id(x), x) if isinstance(x, torch.Tensor) else x

        def note(old, new):
            if isinstance(old, torch.Tensor):
                made[id(old)] = new
            elif isinstance(old, (tuple, list)):
                for one, other in zip(old, new, strict=True):
                    note(one, other)

        for func, args, kwargs, old in self.calls:
            with torch.no_grad():
                note(old, func(*tree_map(now, args), **tree_map(now, kwargs)))


class Graphs(Place):
    """A CPU that has graphs: everything that is done on a GPU but for streams and bfloat16. record: or run eagerly."""

    record = True
    captures = 0

    def __init__(self, device, seed):
        super().__init__(device, seed)
        self.graphs = True

    def captured(self, body):
        type(self).captures += 1
        if not self.record:
            return body
        held = [(tensor, tensor.clone()) for tensor in _tensors(body)]
        recorder = Recorder()
        with recorder:
            body()
        with torch.no_grad():
            for tensor, before in held:  # a capture computes nothing
                tensor.copy_(before)
        return recorder.replay


def _tensors(body):
    """All tensors that a function or what it refers to can reach."""
    seen, found, waiting = set(), [], [body]
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, type | torch.dtype) or type(one).__name__ == "module":
            continue
        seen.add(id(one))
        if isinstance(one, torch.Tensor):
            found.append(one.detach())
        elif isinstance(one, dict):
            waiting.extend(one.values())
            waiting.extend(key for key in one if isinstance(key, torch.Tensor))
        elif isinstance(one, (tuple, list)):
            waiting.extend(one)
        elif callable(one) and (closure := getattr(one, "__closure__", None)):
            waiting.extend(cell.cell_contents for cell in closure)
        elif getattr(one, "__self__", None) is not None:
            waiting.append(one.__self__)
        elif hasattr(one, "__dict__"):
            waiting.append(vars(one))
    return found


def built(architecture, data):
    return lambda: to_torch(architecture, data.input_shape, data.classes)


RECIPES = [
    (digits, CONVOLUTION, QUICK),
    (digits, CONVOLUTION, replace(QUICK, shift=1, flip=True, statistics="batch")),
    (diabetes, PERCEPTRON, replace(QUICK, optimizer="sgd", learning_rate=0.05, schedule="cosine")),
]


@pytest.mark.parametrize(("data", "architecture", "recipe"), RECIPES)
def test_a_step_that_is_replayed_is_the_step(monkeypatch, data, architecture, recipe):
    given = data()
    found = []
    for record in (True, False):
        place = type("P", (Graphs,), {"record": record})
        monkeypatch.setattr(Training, "place_of", place)
        found.append(train(built(architecture, given), given, recipe, 3))
        assert place.captures
    replayed, eager = found
    assert replayed.epochs == eager.epochs
    assert replayed.test_error == eager.test_error
    monkeypatch.undo()
    usual = train(built(architecture, given), given, recipe, 3)  # optimizers that are not fused round otherwise
    assert usual.epochs[0].loss == pytest.approx(eager.epochs[0].loss, rel=1e-4)


def test_a_body_is_run_then_captured_then_replayed():
    told = []

    class Telling(Graphs):
        def captured(self, body):
            del body
            told.append("captured")
            return lambda: told.append("replayed")

    step = Repeated(lambda: told.append("run"), Telling(CPU, 0))
    for _ in range(WARM_UP + 2):
        step()
    assert told == ["run"] * WARM_UP + ["captured", "replayed", "replayed"]


class Strict(Graphs):
    """Says `WAITS` where it is told to, as a GPU does."""

    strict = False

    @contextmanager
    def waiting_raises(self):
        Strict.strict = True
        try:
            yield
        finally:
            Strict.strict = False


class Asking(torch.nn.Module):
    """Asks for a number half-way, or fails there for another reason."""

    def __init__(self, reason=WAITS):
        super().__init__()
        self.linear, self.reason = torch.nn.Linear(10, 1), reason

    def forward(self, x):
        given = self.linear(x)
        if Strict.strict:
            raise RuntimeError(self.reason)
        return given * (1.0 if float(given.detach().sum()) > 0.0 else 0.5)


def test_a_network_that_waits_is_trained_without_graphs_and_said_so_once(monkeypatch):
    data, recipe = diabetes(), replace(QUICK, statistics="batch")  # batches enough for a graph of the scoring too
    monkeypatch.setattr(Training, "place_of", type("P", (Graphs,), {"record": False}))
    expected = train(Asking, data, recipe, 1)
    monkeypatch.setattr(Training, "place_of", type("P", (Strict,), {"captures": 0}))
    with pytest.warns(UserWarning, match=r"without CUDA graphs.* waits for the device at .*test_steps.py:") as told:
        found = train(Asking, data, recipe, 1)
    assert len(told) == 1
    assert Training.place_of.captures == 0  # type: ignore[attr-defined]
    assert found.epochs == expected.epochs  # the run that was broken off has done nothing


def test_what_fails_in_the_last_run_for_another_reason_fails(monkeypatch):
    monkeypatch.setattr(Training, "place_of", Strict)
    with pytest.raises(RuntimeError, match="another reason"):
        train(lambda: Asking("another reason"), diabetes(), QUICK, 1)


def test_waiting_raises_for_a_while_and_a_cache_that_cannot_be_emptied_hides_nothing(monkeypatch):
    place, modes = Place(CPU, 0), [0]
    place.cuda = True
    monkeypatch.setattr(torch.cuda, "get_sync_debug_mode", lambda: modes[-1])
    monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", modes.append)
    with pytest.raises(KeyError), place.waiting_raises():
        raise KeyError
    assert modes == [0, "error", 0]

    def broken():
        raise RuntimeError("captures_underway.empty() INTERNAL ASSERT FAILED")

    monkeypatch.setattr(torch.cuda, "empty_cache", broken)
    place.release()


def failed_capture(cause):
    """A step that raises while it is captured: the end of the capture raises too, and hides what led to it."""

    def captured(_, body):
        del body
        try:
            try:
                raise cause
            finally:
                raise RuntimeError("operation failed due to a previous error during capture")
        except Exception as error:
            raise CaptureFailed(f"its step cannot be a CUDA graph: {error}") from error

    return type("P", (Graphs,), {"captured": captured})


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        (
            torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB."),
            "^out of memory: CUDA out of mem",
        ),
        (ValueError("a number is asked for"), "^its step cannot be a CUDA graph: operation failed"),
    ],
)
def test_a_capture_that_fails_is_a_reason_and_leaves_nothing(monkeypatch, cause, reason):
    data = diabetes()
    made = []

    def build():
        made.append(weakref.ref(network := built(PERCEPTRON, data)()))
        return network

    expected = train(build, data, QUICK, 1)
    monkeypatch.setattr(Training, "place_of", failed_capture(cause))
    with pytest.raises(TrainingFailed, match=reason):
        train(build, data, QUICK, 1)
    cause.__traceback__ = None
    gc.collect()
    assert made[1]() is None  # nor its gradients and what else was on the device
    monkeypatch.undo()
    assert train(build, data, QUICK, 1).epochs == expected.epochs


def test_a_training_that_has_ended_is_held_by_nobody():
    data = digits()
    made = []

    def build():
        made.append(weakref.ref(network := built(CONVOLUTION, data)()))
        return network

    gc.collect()
    gc.disable()  # a GPU's memory cannot wait for the next collection
    try:
        training = Training(build, data, replace(QUICK, epochs=1), 1)
        training.advance(None)
        assert made[0]() is not None
        del training
        assert made[0]() is None
    finally:
        gc.enable()


SAYING_MEMORY = [
    "[enforce fail] DefaultCPUAllocator: can't allocate memory: 7 bytes",
    "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
    "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
    "CUDA error: out of memory",
    "CUDA driver error: out of memory",
]


def test_what_is_for_lack_of_memory():
    free = Place(CPU, 0).free_memory
    for text in SAYING_MEMORY:
        assert memory_reason(RuntimeError(f"{text}\nCompile with ..."), free) == text
    assert memory_reason(RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), free) == "CUDA out of memory"
    assert memory_reason(MemoryError(), free) == ""
    assert memory_reason(ValueError("no"), free) is None


def test_no_convolution_is_for_lack_of_memory_where_little_is_free(monkeypatch):
    place, none = Place(CPU, 0), RuntimeError("GET was unable to find an engine to execute this computation")
    assert memory_reason(none, place.free_memory) is None
    place.cuda, place._index = True, 0
    for free, expected in ((2**28, str(none)), (2**33, None)):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _, free=free: (free, 2**37))
        assert memory_reason(none, place.free_memory) == expected

    def lost(_):
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    monkeypatch.setattr(torch.cuda, "mem_get_info", lost)
    assert memory_reason(none, place.free_memory) is None  # and not what asking raises


def test_devices_are_there_or_refused(monkeypatch):
    assert check_device("cpu") == CPU
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for name in ("gpu", "mps", "cuda", "cuda:1"):
        with pytest.raises(ValueError, match=f"device: .* got '{name}'"):
            check_device(name)
    with pytest.raises(TypeError, match="device: expected 'cpu'"):
        check_device(0)  # type: ignore[arg-type]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert check_device("cuda:0").type == "cuda"
    with pytest.raises(ValueError, match="torch finds 1 CUDA devices here, got 'cuda:1'"):
        check_device("cuda:1")


def test_convolutions_are_tuned_in_a_training_and_nowhere_else():
    assert not torch.backends.cudnn.benchmark
    seen = []

    def fails():
        with tuned():
            seen.append(torch.backends.cudnn.benchmark)
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert seen == [True]
    assert not torch.backends.cudnn.benchmark


def test_trainings_are_the_same_a_step_at_a_time():
    data = digits()
    dropped = lambda: to_torch(CONVOLUTION, data.input_shape, data.classes, dropout=0.3)  # noqa: E731
    whole = train(dropped, data, QUICK, 5)
    training = Training(dropped, data, QUICK, 5)
    torch.manual_seed(0)
    drawn = [float(torch.rand(()))]
    while training.advance(7):
        drawn.append(float(torch.rand(())))  # of others, in between
    assert isinstance(training.outcome, Trained)
    assert training.outcome.epochs == whole.epochs
    assert training.outcome.test_error == whole.test_error
    torch.manual_seed(0)
    assert drawn == [float(torch.rand(())) for _ in drawn]


def test_buffers_stay_where_they_are():
    images = Examples(torch.rand(70, 3, 8, 8), torch.arange(70))
    batches = Batches(images, Recipe(batch_size=32, shift=2, flip=True), torch.Generator().manual_seed(0))
    places = set()
    for _ in range(3):
        batches.renew()
        seen = []
        for _ in range(batches.steps):
            seen.append(batches.take()[1])
            batches.note(torch.tensor(1.0))
        places.add(batches._inputs.data_ptr())
        assert len(set(torch.cat(seen).tolist())) == 64
    assert len(places) == 1


def test_a_checkpoint_leaves_the_rate_where_graphs_read_it(tmp_path):
    network = torch.nn.Linear(2, 1)
    runs = [
        Run(network, optimizer_of(list(network.parameters()), QUICK, Graphs(CPU, 0)), torch.Generator(), [])
        for _ in range(2)
    ]
    save_checkpoint(tmp_path / "c.pt", runs[0], {})
    rate = runs[1].optimizer.param_groups[0]["lr"]
    load_checkpoint(tmp_path / "c.pt", runs[1], {})
    assert runs[1].optimizer.param_groups[0]["lr"] is rate


def test_data_are_moved_once_and_go_with_the_data_set():
    data = diabetes()
    first = resident(data, CPU)
    assert resident(data, CPU).train.inputs is first.train.inputs
    part = fraction_of(data, 0.5)
    there = resident(part, CPU)
    assert there.validation.inputs is first.validation.inputs
    assert there.train.inputs.data_ptr() == first.train.inputs.data_ptr()  # the first examples, and no copy of them
    assert torch.equal(there.train.inputs, resident(data.part(0.5), CPU).train.inputs)
    assert torch.equal(there.train.targets, part.train.targets)
    scaled = Dataset("d", data.task, data.train, data.validation, data.test, data.classes, (1.0,), (2.0,))
    assert not torch.equal(resident(scaled, CPU).train.inputs, first.train.inputs)
    held = weakref.ref(first.train.inputs)
    del data, first, part, scaled, there
    gc.collect()
    assert held() is None
