"""The published DeepArchitect, and its names for our language, so that files of its repository run under both.

Nothing of that repository is here: tests read a checkout of github.com/negrinho/deep_architect, whose folder the
environment variable BOSTRUCT_DEEP_ARCHITECT names. Its helpers for frameworks and its files of spaces run as they are
written, over its own core or over the aliases below. The frameworks are stubs, as nothing is compiled.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from bostruct.language import Program
from tests.domains.language.deep_architect_aliases import alias_modules

CHECKOUT = os.environ.get("BOSTRUCT_DEEP_ARCHITECT")
needs_checkout = pytest.mark.skipif(
    CHECKOUT is None, reason="BOSTRUCT_DEEP_ARCHITECT does not name a checkout of github.com/negrinho/deep_architect"
)
FRAMEWORKS = ("tensorflow", "keras", "torch")
PACKAGES = (*FRAMEWORKS, "deep_architect", "dev")
Rows = list[Any]  # what a program is made of, in an order that its graph determines


class Described(NamedTuple):
    """What is compared of a node."""

    kind: str
    values: Mapping[str, Any]
    sources: Mapping[str, tuple[Any, str]]


class StubType(type):
    """A class of which any attribute is such a class again."""

    def __getattr__(cls, name: str) -> StubType:
        if name.startswith("__"):
            raise AttributeError(name)
        return stub(name)


def stub(name: str) -> StubType:
    """Return a class that takes any arguments."""
    return StubType(name, (), {"__init__": lambda *_, **__: None})


class StubModule(ModuleType):
    """A module that has whatever is asked of it."""

    def __getattr__(self, name: str) -> StubType:
        if name.startswith("__"):
            raise AttributeError(name)
        return stub(name)


class StubFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a stub for each module of a framework, and for the published drawings, which need Graphviz."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> Any:
        del path, target
        if fullname.partition(".")[0] in FRAMEWORKS or fullname == "deep_architect.visualization":
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> ModuleType:
        return StubModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        del module


@contextmanager
def library(which: str, cut: int | None = None) -> Iterator[None]:
    """Import from the checkout meanwhile, over its own core (`published`) or over the aliases (`ours`)."""
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in PACKAGES}
    for name in before:
        del sys.modules[name]
    finder = StubFinder()
    sys.meta_path.insert(0, finder)
    sys.path.insert(0, str(CHECKOUT))
    try:
        if which == "ours":
            for name, members in alias_modules(cut).items():
                sys.modules[f"deep_architect.{name}"] = module = ModuleType(f"deep_architect.{name}")
                vars(module).update(members)
        else:
            _prepare_published(cut)
        _accept_either_order(importlib.import_module("deep_architect.helpers.tensorflow_eager_support"))
        yield
    finally:
        sys.path.remove(str(CHECKOUT))
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.partition(".")[0] in PACKAGES]:
            del sys.modules[name]
        sys.modules.update(before)


def _prepare_published(cut: int | None) -> None:
    hyperparameters = importlib.import_module("deep_architect.hyperparameters")
    hyperparameters.np = SimpleNamespace(product=np.prod, arange=np.arange)  # type: ignore[attr-defined]
    if cut is not None:
        init = hyperparameters.Discrete.__init__
        hyperparameters.Discrete.__init__ = lambda self, vs, scope=None, name=None: init(
            self, list(vs)[:cut], scope, name
        )


def _accept_either_order(helpers: ModuleType) -> None:
    """Let the helper for TensorFlow take its hyperparameters first too, as the file of ENAS still has it."""
    init = helpers.TensorflowEagerModule.__init__

    def either(self: Any, name: str, compile_fn: Any, name_to_hyperp: Any, *args: Any) -> None:
        if callable(name_to_hyperp):
            compile_fn, name_to_hyperp = name_to_hyperp, compile_fn
        init(self, name, compile_fn, name_to_hyperp, *args)

    helpers.TensorflowEagerModule.__init__ = either


def define(path: str) -> Any:
    """Execute the imports, definitions and plain names of a script or of the code blocks of a page.

    What loads data, trains or draws is left out, and so is the Python 2 of the oldest scripts: prints, and xrange.
    """
    text = (Path(str(CHECKOUT)) / path).read_text()
    if path.endswith(".rst"):
        text = "\n".join(
            textwrap.dedent(block) for block in re.findall(r"^\.\. code:: python\n((?:\n| .*\n)+)", text, re.M)
        )
    elif path.endswith(".md"):
        text = "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.M | re.S))
    text = re.sub(r"^ *from __future__.*\n|^ *print \w+\n", "", text, flags=re.M)
    tree = ast.parse(text)
    tree.body = [statement for statement in tree.body if _defines(statement)]
    namespace: dict[str, Any] = {"xrange": range, "__name__": path}
    exec(compile(tree, path, "exec"), namespace)
    return SimpleNamespace(**namespace)


def _defines(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assign):
        called = not isinstance(statement.value, ast.Lambda) and any(
            isinstance(part, ast.Call | ast.Subscript) for part in ast.walk(statement.value)
        )
        return isinstance(statement.targets[0], ast.Name) and not called
    return isinstance(statement, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef)


def plain(value: Any) -> Any:
    """Return a value as both libraries have it: lists as tuples, functions and dicts by name."""
    if isinstance(value, list | tuple):
        return tuple(map(plain, value))
    return value.__name__ if callable(value) else value


class Published:
    """A space under the published library, which is built anew for each program."""

    def __init__(self, build: Callable[[], Any], core: Any, modules: Any) -> None:
        self.core = core
        self.get = modules.SearchSpaceFactory(build).get_search_space

    def programs(self) -> Iterator[tuple[tuple[Any, ...], Rows]]:
        """Yield the values and the graphs of all programs, in the order of choice."""
        made: list[int] = []
        while True:
            options: list[int] = []
            yield self._build(partial(_choose_next, made, options))
            while options and made[-1] == options[-1] - 1:
                made.pop()
                options.pop()
            if not options:
                return
            made[-1] += 1

    def replay(self, chosen: Sequence[Any]) -> tuple[tuple[Any, ...], Rows]:
        """Return the values and the graph that values in the order of choice lead to."""
        left = list(chosen)

        def choose(values: Sequence[Any]) -> Any:
            wanted = left.pop(0)
            return next(value for value in values if plain(value) == wanted)

        found = self._build(choose)
        assert not left
        return found

    def _build(self, choose: Callable[[Sequence[Any]], Any]) -> tuple[tuple[Any, ...], Rows]:
        inputs, outputs = self.get()
        values = []
        for h in self.core.unassigned_independent_hyperparameter_iterator(outputs):
            h.assign_value(choose(h.vs))
            values.append(plain(h.get_value()))
        return tuple(values), self._rows(inputs, outputs)

    def _rows(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Rows:
        ends = {port: name for name, port in inputs.items()}

        def follow(port: Any) -> tuple[Any, str]:
            while port.is_connected():
                output = port.get_connected_output()
                module = output.get_module()
                if type(module).__name__ != "Identity":
                    return module, output.get_name().rpartition(".")[2]
                port = module.inputs["in"]
            return None, ends[port]

        def leaving(output: Any) -> tuple[Any, str]:
            module = output.get_module()
            if type(module).__name__ == "Identity":
                return follow(module.inputs["in"])
            return module, output.get_name().rpartition(".")[2]

        def describe(module: Any) -> Described:
            kind = re.sub(r"-\d+$", "", module.get_name()).removeprefix("M.")
            values = {name: h.get_value() for name, h in module.hyperps.items()}
            return Described(kind, values, {name: follow(port) for name, port in module.inputs.items()})

        return canonical_rows({name: leaving(output) for name, output in outputs.items()}, describe)


def _choose_next(made: list[int], options: list[int], values: Sequence[Any]) -> Any:
    """Return the value to choose next, the first one where none was chosen before."""
    options.append(len(values))
    if len(made) < len(options):
        made.append(0)
    return values[made[len(options) - 1]]


def our_rows(program: Program) -> Rows:
    """Return what one of our programs is made of."""

    def describe(position: int) -> Described:
        node = program.nodes[position]
        return Described(node.kind, node.values, node.sources)

    return canonical_rows(program.outputs, describe)


def canonical_rows(outputs: Mapping[str, tuple[Any, str]], describe: Callable[[Any], Described]) -> Rows:
    """Return a row for each node, numbered as they are met from the outputs backwards."""
    found: dict[Any, Described] = {}
    stack = [node for _, (node, _) in sorted(outputs.items(), reverse=True)]
    while stack:
        node = stack.pop()
        if node is not None and node not in found:
            found[node] = describe(node)
            stack += [source for _, (source, _) in sorted(found[node].sources.items(), reverse=True)]
    numbers = {node: number for number, node in enumerate(found)}

    def number(ends: Mapping[str, tuple[Any, str]]) -> Rows:
        return [(name, numbers.get(node), port) for name, (node, port) in sorted(ends.items())]

    return [number(outputs)] + [
        (one.kind, sorted((name, plain(value)) for name, value in one.values.items()), number(one.sources))
        for one in found.values()
    ]
