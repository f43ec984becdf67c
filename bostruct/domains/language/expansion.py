"""Build the part that takes the place of a substitution module, and name where it lies."""

from __future__ import annotations

import json

from bostruct.contracts import Infeasible
from bostruct.domains.language.closing import close
from bostruct.domains.language.errors import LanguageError, PortNames, SubstitutionError, TooDeep
from bostruct.domains.language.graph import Fragment, Module, Substitution, build_into
from bostruct.domains.language.values import Value, reveal

ESCAPED = {"%": "%25", "/": "%2F", ",": "%2C", "]": "%5D"}  # what places are made of
MAX_EXPANSIONS = 4_096  # parts at one module
ENDLESS_MESSAGE = "its function calls itself without end: put a choice between, such as siso_optional or siso_or"


def expand_module(module: Module, given: tuple[Value, ...], max_depth: int, *, keep: bool = True) -> Fragment:
    """Return the part that stands for a substitution module with these values.

    module: substitution module.
    given: a value for each of its hyperparameters, in their order.
    max_depth: int, the most substitutions around each other.
    keep: bool, True where it will be asked for again.

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
    """Build the part, or return why there is none."""
    substitution: Substitution = module.substitution  # type: ignore[assignment]
    values = dict(zip(module.hyperparameters, given, strict=True))
    fragment = Fragment(module.path + _place_suffix(values, substitution.keyed_by), module)
    if fragment.depth > max_depth:
        raise TooDeep(f"{module.path}: more than {max_depth} substitutions around each other")
    try:
        with build_into(fragment):
            made = substitution.fn(module.constants | {name: reveal(value) for name, value in values.items()})
    except Infeasible as error:
        if not substitution.opens_choices:
            raise LanguageError(f"{module.path}: opens_choices=False, but {values} is infeasible: {error}") from error
        return str(error)
    except LanguageError as error:
        if module.path in str(error):
            raise
        raise type(error)(f"{module.path}: {error}") from error
    except RecursionError as error:
        raise SubstitutionError(f"{module.path}: for {values} {ENDLESS_MESSAGE}") from error
    except Exception as error:
        raise SubstitutionError(f"{module.path}: its function failed for {values}: {error!r}") from error
    close(fragment, made)
    if not substitution.opens_choices and not fragment.is_plain:
        what = "reads an output of a part around it" if fragment.reads_outer else "holds choices"
        raise LanguageError(f"{module.path}: opens_choices=False, but what {values} builds {what}")
    for kind, declared, there, subset in (
        ("inputs", module.inputs, fragment.inputs, substitution.allow_input_subset),
        ("outputs", module.outputs, fragment.outputs, substitution.allow_output_subset),
    ):
        if not (there.keys() <= declared.keys() if subset else there.keys() == declared.keys()):
            expected = f"{'some of ' if subset else ''}{', '.join(declared)}"
            raise PortNames(f"{fragment}: expected the {kind} {expected}; got {', '.join(there)}")
    return fragment


def _place_suffix(values: dict[str, Value], keyed_by: frozenset[str] | None) -> str:
    shown_values = [_escape_value(value) for name, value in values.items() if keyed_by is None or name in keyed_by]
    return f"[{','.join(shown_values)}]" if shown_values else ""


def _escape_value(value: Value) -> str:
    """Spell each value differently; text is as it is, in quotes only where it could be taken for something else."""
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
