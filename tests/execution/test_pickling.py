"""Objectives and points travel: functions of every kind, modules by their names, and what cannot is refused."""

from __future__ import annotations

import pickle
import sys
import threading
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import bostruct as bo
from bostruct.execution.pools import pickle_for_worker

SPACE = bo.Space({"a": bo.Integer(0, 5)})


def test_lambdas_and_closures_are_rebuilt_without_their_module() -> None:
    offset = 3.0

    def inner(point: dict) -> float:
        return point["a"] + offset

    for objective in (inner, lambda point: inner(point)):
        again = pickle.loads(pickle_for_worker("objective", objective))
        assert again is not objective
        assert again({"a": 1}) == 4.0


@pytest.mark.parametrize("point", [{"a": 1, "b": "x"}, (1, 2), bo.mlp_domain().pool[0]])
def test_points_arrive_equal(point: Any) -> None:
    assert pickle.loads(pickle_for_worker("point", point)) == point


class Own(ModuleType):
    """A module of a class of its own, as libraries make them."""


def test_a_module_of_its_own_class_is_imported_again_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    module = Own("own_module_of_a_test")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    again = pickle.loads(pickle_for_worker("objective", SimpleNamespace(module=module)))
    assert again.module is module


def test_a_module_that_is_not_loaded_under_its_name_cannot_travel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "another", Own("another"))
    stranger = Own("another")
    with pytest.raises(TypeError, match="objective: cannot be sent to a worker process"):
        pickle_for_worker("objective", lambda _: stranger)


@pytest.mark.parametrize("name", ["objective", "point"])
def test_a_refusal_names_what_cannot_travel_and_why(name: str) -> None:
    generator = (i for i in range(3))
    with pytest.raises(TypeError, match=f"^{name}: cannot be sent .*generator.* use neither workers") as refused:
        pickle_for_worker(name, generator)
    assert refused.value.__cause__ is not None


def test_modules_of_every_kind_travel_by_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        "import sys, types\n"
        "class Lazy(types.ModuleType):\n    answer = 42.0\n"
        "ops = sys.modules['lazily.ops'] = Lazy('lazily.ops')\n"
    )
    (tmp_path / "lazily").mkdir()
    (tmp_path / "lazily" / "__init__.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    import lazily  # pyright: ignore[reportMissingImports]

    def objective(point: dict) -> float:
        return lazily.ops.answer + point["a"]  # as functions that name torch and any `ops`: cloudpickle takes torch.ops

    result = bo.minimize(objective, SPACE, 2, method="random", seed=0, workers=2, progress=False)
    assert result.best_value >= 42.0


def test_a_refusal_to_travel_says_what_to_do() -> None:
    lock = threading.Lock()
    with pytest.raises(TypeError, match=r"objective: cannot be sent .* create that object inside the objective"):
        bo.minimize(lambda point: lock and point["a"], SPACE, 2, method="random", workers=2)
