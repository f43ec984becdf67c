"""Build, name and validate the part that replaces a substitution module.

In a valid part, every input is connected or returned, and some output depends on every module.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import dropwhile
from typing import Any

from bostruct.checks import short_repr
from bostruct.contracts import Infeasible
from bostruct.domains.language import errors
from bostruct.domains.language.graph import (
    Fragment,
    Input,
    Module,
    Output,
    Substitution,
    build_into,
    number_name,
    show_port,
)
from bostruct.domains.language.values import Value, reveal

ESCAPED = {"%": "%25", "/": "%2F", ",": "%2C", "]": "%5D"}  # characters that paths use as delimiters
MAX_EXPANSIONS = 4_096  # parts kept per module
ENDLESS_MESSAGE = "its function calls itself without end: add a choice, such as siso_optional or siso_or"


def expand_module(module: Module, given: tuple[Value, ...], max_depth: int, *, keep: bool = True) -> Fragment:
    """Return the part that replaces a substitution module for these hyperparameter values.

    keep: bool, True to cache the part at the module.

    Raises Infeasible and LanguageError.
    """
    known = module.expansions.get(given)
    if known is None:
        known = _build_fragment(module, given, max_depth)
        if keep and len(module.expansions) >= MAX_EXPANSIONS:
            module.expansions.clear()
        if keep:
            module.expansions[given] = known
    if isinstance(known, str):
        raise Infeasible(known)
    return known


def _build_fragment(module: Module, given: tuple[Value, ...], max_depth: int) -> Fragment | str:
    """Build the part, or return the reason why the values are infeasible."""
    substitution: Substitution = module.substitution  # type: ignore[assignment]
    values = dict(zip(module.hyperparameters, given, strict=True))
    keys = values.keys() if substitution.keyed_by is None else substitution.keyed_by
    shown = ",".join(_escape_value(value) for name, value in values.items() if name in keys)
    fragment = Fragment(f"{module.path}[{shown}]" if values.keys() & keys else module.path, module)
    if fragment.depth > max_depth:
        raise errors.TooDeep(f"{module.path}: more than {max_depth} nested substitutions")
    try:
        with build_into(fragment):
            made = substitution.fn(module.constants | {name: reveal(value) for name, value in values.items()})
    except Infeasible as error:
        if not substitution.opens_choices:
            raise errors.LanguageError(
                f"{module.path}: opens_choices=False, but {values} is infeasible: {error}"
            ) from error
        return str(error)
    except errors.LanguageError as error:
        if module.path in str(error):
            raise
        raise type(error)(f"{module.path}: {error}") from error
    except RecursionError as error:
        raise errors.SubstitutionError(f"{module.path}: for {values} {ENDLESS_MESSAGE}") from error
    except Exception as error:
        raise errors.SubstitutionError(f"{module.path}: its function failed for {values}: {error!r}") from error
    close(fragment, made)
    if not substitution.opens_choices and not fragment.is_plain:
        what = "reads an output of an enclosing part" if fragment.reads_outer else "contains choices"
        raise errors.LanguageError(f"{module.path}: opens_choices=False, but the part for {values} {what}")
    for kind, declared, returned, subset in (
        ("inputs", module.inputs, fragment.inputs, substitution.allow_input_subset),
        ("outputs", module.outputs, fragment.outputs, substitution.allow_output_subset),
    ):
        if not (returned.keys() <= declared.keys() if subset else returned.keys() == declared.keys()):
            expected = f"{'some of ' if subset else ''}{', '.join(declared)}"
            raise errors.PortNames(f"{fragment}: expected the {kind} {expected}; got {', '.join(returned)}")
    return fragment


def _escape_value(value: Value) -> str:
    """Write each value differently; quote a string only if it could be read as another value."""
    if isinstance(value, tuple):
        return f"({','.join(map(_escape_value, value))})"
    if not isinstance(value, str):
        return str(value)
    text = json.dumps(value, ensure_ascii=False) if _is_ambiguous(value) else value
    return "".join(ESCAPED.get(character, character) for character in text)


def _is_ambiguous(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text in ("", "None", "True", "False") or text[0] in '("'
    return True


def close(fragment: Fragment, made: object) -> None:
    """Validate a part and assign its paths after its function has returned; raises LanguageError."""
    inputs, outputs = _check_returned_ports(made, fragment)
    for name, port in [*inputs.items(), *outputs.items()]:
        if port.module.fragment is not fragment:
            raise errors.ForeignPort(f"{fragment} returns {name!r}: {port}, which belongs to {port.module.fragment}")
    for name, port in inputs.items():
        if port.source is not None:
            raise errors.AlreadyConnected(
                f"{fragment} returns {port} as its input {name!r}, but it reads {port.source}"
            )
        if port.exposed_as is not None:
            raise errors.NameClash(f"{fragment} returns {port} twice, as {port.exposed_as!r} and as {name!r}")
        port.exposed_as = name
    fragment.inputs, fragment.outputs = dict(inputs), dict(outputs)
    _check_edges(fragment)
    _check_reachability(fragment)
    _name_hyperparameters(fragment)
    fragment.closed = True
    fragment.is_plain = not fragment.reads_outer and not any(map(_has_choices, fragment.modules))


def _has_choices(module: Module) -> bool:
    return module.substitution is not None or bool(module.hyperparameters)


def _check_edges(fragment: Fragment) -> None:
    for module in fragment.modules:
        for port in module.inputs.values():
            if port.source is None and port.exposed_as is None:
                raise errors.DanglingInput(
                    f"{port} reads nothing: connect it, or return it among the inputs of {fragment}"
                )
            if port.source is not None and port.source.module.fragment is not fragment:
                fragment.reads_outer = True
                _check_outer_edge(port, port.source)


def _check_outer_edge(port: Input, source: Output) -> None:
    """Raise CycleError if an output of an enclosing part depends on the module that this part replaces."""
    enclosing = port.module.fragment
    while enclosing.host is not None and enclosing.host.fragment is not source.module.fragment:
        enclosing = enclosing.host.fragment
    before: set[Module] = set()
    _visit_ancestors(source.module, before)
    if enclosing.host in before:
        raise errors.CycleError(
            f"{port} reads {source}, which depends on {enclosing.host.path}, the enclosing substitution"
        )


def _check_reachability(fragment: Fragment) -> None:
    done: set[Module] = set()
    for output in fragment.outputs.values():
        _visit_ancestors(output.module, done)
    hidden: set[Module] = set()  # modules that only later parts may read
    for output in fragment.outer_outputs:
        _visit_ancestors(output.module, hidden)
    fragment.hides_choices = any(map(_has_choices, hidden - done))
    for module in fragment.modules:
        if module not in done and module not in hidden:
            _visit_ancestors(module, set())  # a cycle has a better message
            raise errors.DanglingModule(f"{module.path} leads to no output of {fragment}: connect it, or remove it")


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
        if name is None:  # only functions that run later use it
            name, loose = f"D-{loose}", loose + 1
        name = number_name(name, taken)
        taken.add(name)
        h.path = fragment.child_path(name)


def _visit_ancestors(start: Module, done: set[Module]) -> None:
    """Add to `done` all modules of the part that `start` depends on; raises CycleError."""
    if start in done:
        return
    path = {start: None}  # modules from the start to the current module
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
                cycle = " <- ".join(one.path for one in [*dropwhile(lambda one: one is not module, path), module])
                raise errors.CycleError(f"{port} reads {port.source}, which depends on it: {cycle}")
            path[module] = None
            stack.append(iter(module.inputs.values()))


def _check_returned_ports(made: Any, fragment: Fragment) -> tuple[Mapping[str, Input], Mapping[str, Output]]:
    is_pair = isinstance(made, tuple) and len(made) == 2 and all(isinstance(part, Mapping) for part in made)
    if not is_pair:
        raise errors.PortNames(
            f"{fragment}: expected its function to return (inputs, outputs), two dicts; got {short_repr(made)}"
        )
    inputs, outputs = made
    for kind, ports, cls in (("input", inputs, Input), ("output", outputs, Output)):
        for name, port in ports.items():
            if not isinstance(port, cls):
                raise errors.PortNames(f"{fragment}: expected an {kind} as {name!r}, got {show_port(port)}")
    if not outputs:
        raise errors.PortNames(f"{fragment}: expected at least one output, got none")
    return inputs, outputs
