"""Close a part once its function has returned: every input is connected or returned, and every module is of use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bostruct.checks import short_repr
from bostruct.domains.language.errors import (
    AlreadyConnected,
    CycleError,
    DanglingInput,
    DanglingModule,
    ForeignPort,
    NameClash,
    PortNames,
)
from bostruct.domains.language.graph import Fragment, Input, Module, Output, number_name, show_port


def close(fragment: Fragment, made: object) -> None:
    """Fix a part once its function has returned; raises LanguageError.

    fragment: the part.
    made: what its function returned.
    """
    inputs, outputs = _check_returned_ports(made, fragment)
    for name, port in [*inputs.items(), *outputs.items()]:
        if port.module.fragment is not fragment:
            raise ForeignPort(f"{fragment} returns {name!r}: {port}, which belongs to {port.module.fragment}")
    _set_borders(fragment, inputs)
    fragment.inputs, fragment.outputs = dict(inputs), dict(outputs)
    _check_edges(fragment)
    _check_reachability(fragment)
    _name_hyperparameters(fragment)
    fragment.closed = True
    fragment.is_plain = not fragment.reads_outer and not any(map(_has_choices, fragment.modules))


def _has_choices(module: Module) -> bool:
    return module.substitution is not None or bool(module.hyperparameters)


def _set_borders(fragment: Fragment, inputs: Mapping[str, Input]) -> None:
    for name, port in inputs.items():
        if port.source is not None:
            raise AlreadyConnected(f"{fragment} returns {port} as its input {name!r}, but it reads {port.source}")
        if port.exposed_as is not None:
            raise NameClash(f"{fragment} returns {port} twice, as {port.exposed_as!r} and as {name!r}")
        port.exposed_as = name


def _check_edges(fragment: Fragment) -> None:
    for module in fragment.modules:
        for port in module.inputs.values():
            if port.source is None and port.exposed_as is None:
                raise DanglingInput(f"{port} reads nothing: connect it, or return it among the inputs of {fragment}")
            if port.source is not None and port.source.module.fragment is not fragment:
                fragment.reads_outer = True
                _check_outer_edge(port, port.source)


def _check_outer_edge(port: Input, source: Output) -> None:
    """Raise CycleError where an output of a part around this one depends on what this part stands for."""
    around = port.module.fragment
    while around.host is not None and around.host.fragment is not source.module.fragment:
        around = around.host.fragment
    before: set[Module] = set()
    _visit_ancestors(source.module, before)
    if around.host in before:
        raise CycleError(f"{port} reads {source}, which depends on {around.host.path}, the substitution around it")


def _check_reachability(fragment: Fragment) -> None:
    done: set[Module] = set()
    for output in fragment.outputs.values():
        _visit_ancestors(output.module, done)
    hidden: set[Module] = set()  # what only parts to come may read
    for output in fragment.outer_outputs:
        _visit_ancestors(output.module, hidden)
    fragment.hides_choices = any(map(_has_choices, hidden - done))
    for module in fragment.modules:
        if module not in done and module not in hidden:
            _visit_ancestors(module, set())  # a loop of its own is the better message
            raise DanglingModule(f"{module.path} leads to no output of {fragment}: connect it, or leave it out")


def _name_hyperparameters(fragment: Fragment) -> None:
    local: dict[int, str] = {}
    for module in fragment.modules:
        for name, h in module.hyperparameters.items():
            if h.fragment is fragment:
                local.setdefault(id(h), f"{module.name}.{name}")
    taken: set[str] = set()
    loose = 0
    for h in fragment.hyperparameters:
        name = h.name or local.get(id(h))
        if name is None:  # only functions to come use it
            name, loose = f"D-{loose}", loose + 1
        name = number_name(name, taken)
        taken.add(name)
        h.path = fragment.child_path(name)


def _visit_ancestors(start: Module, done: set[Module]) -> None:
    """Add to `done` all modules of its part that `start` depends on; raises CycleError."""
    if start in done:
        return
    path = {start: None}  # from the start back to where the walk is
    stack = [iter(start.inputs.values())]
    while stack:
        port = next(stack[-1], None)
        if port is None:
            stack.pop()
            done.add(path.popitem()[0])
        elif (
            port.source is not None and (module := port.source.module) not in done and module.fragment is start.fragment
        ):
            if module in path:
                raise CycleError(f"{port} reads {port.source}, which depends on it: {_module_cycle(path, module)}")
            path[module] = None
            stack.append(iter(module.inputs.values()))


def _module_cycle(path: Mapping[Module, None], start: Module) -> str:
    order = list(path)
    return " <- ".join(module.path for module in [*order[order.index(start) :], start])


def _check_returned_ports(made: Any, fragment: Fragment) -> tuple[Mapping[str, Input], Mapping[str, Output]]:
    is_pair = isinstance(made, tuple) and len(made) == 2 and all(isinstance(part, Mapping) for part in made)
    if not is_pair:
        raise PortNames(
            f"{fragment}: expected its function to return (inputs, outputs), two dicts; got {short_repr(made)}"
        )
    inputs, outputs = made
    for kind, ports, cls in (("input", inputs, Input), ("output", outputs, Output)):
        for name, port in ports.items():
            if not isinstance(port, cls):
                raise PortNames(f"{fragment}: expected an {kind} as {name!r}, got {show_port(port)}")
    if not outputs:
        raise PortNames(f"{fragment}: expected at least one output, got none")
    return inputs, outputs
