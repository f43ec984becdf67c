"""Make modules: the nodes of a search space, basic ones and those that a part of the space takes the place of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from bostruct.checks import short_repr
from bostruct.domains.language.errors import ForeignPort, LanguageError, NameClash
from bostruct.domains.language.graph import IO, Module, Output, Substitution, current_fragment, show_port
from bostruct.domains.language.values import Value, as_properties


def module(
    name: str,
    name_to_hyperp: Mapping[str, object] | None = None,
    input_names: Iterable[str] = (),
    output_names: Iterable[str] = ("out",),
    implementation: object = None,
) -> IO:
    """Return a basic module, as (inputs, outputs).

    Parameters
    ----------
    name : str
        Its name in paths.
    name_to_hyperp : mapping of str to object, optional
        Local name -> hyperparameter, or a constant: a value, an array, a function, or any object whose repr says what
        it holds.
    input_names : iterable of str, default ()
        Names of its inputs.
    output_names : iterable of str, default ("out",)
        Names of its outputs.
    implementation : object, optional
        What compilers make of it.

    Raises
    ------
    LanguageError
        If an argument is invalid.
    """
    properties = as_properties(f"{name}: name_to_hyperp", name_to_hyperp)
    made = Module(name, properties, _check_port_names(name, input_names, output_names), implementation)
    return made.inputs, made.outputs


def siso_module(name: str, name_to_hyperp: Mapping[str, object] | None = None, implementation: object = None) -> IO:
    """Return a basic module with one input, ``in``, and one output, ``out``.

    Parameters
    ----------
    name : str
        Its name in paths.
    name_to_hyperp : mapping of str to object, optional
        Local name -> hyperparameter or constant, as in `module`.
    implementation : object, optional
        What compilers make of it.

    Raises
    ------
    LanguageError
        If an argument is invalid.
    """
    return module(name, name_to_hyperp, ("in",), ("out",), implementation)


def substitution_module(
    name: str,
    substitution_fn: Callable[[dict[str, Value]], IO],
    name_to_hyperp: Mapping[str, object],
    input_names: Iterable[str],
    output_names: Iterable[str],
    *,
    allow_input_subset: bool = False,
    allow_output_subset: bool = False,
    keyed_by: Iterable[str] | None = None,
    opens_choices: bool = True,
) -> IO:
    """Return a module whose place a part of the space takes once all its hyperparameters have values.

    Parameters
    ----------
    name : str
        Its name in paths.
    substitution_fn : callable
        Function of a dict from local names to values that returns (inputs, outputs) with the names declared here, or
        some of them if a subset is allowed. It must do the same whenever it gets the same: what it builds is kept. It
        raises `bostruct.Infeasible` if the choices lead nowhere.
    name_to_hyperp : mapping of str to object
        Hyperparameters or constants by local name.
    input_names : iterable of str
        Names of its inputs.
    output_names : iterable of str
        Names of its outputs.
    allow_input_subset : bool, default False
        True if the part may have some of the inputs only.
    allow_output_subset : bool, default False
        True if the part may have some of the outputs only.
    keyed_by : iterable of str, optional
        The local names whose values tell apart what is built; hyperparameters inside keep their values when only others
        change. By default all do.
    opens_choices : bool, default True
        False to promise that what is built never holds a choice and is always feasible, so that spaces with many
        hyperparameters here are counted, and drawn from, without building it.

    Raises
    ------
    LanguageError
        If an argument is invalid.
    """
    if not callable(substitution_fn):
        raise LanguageError(f"substitution_fn: expected a function of a dict, got {short_repr(substitution_fn)}")
    properties = as_properties(f"{name}: name_to_hyperp", name_to_hyperp)
    keys = None if keyed_by is None else frozenset(keyed_by)
    if keys is not None and not keys <= properties.keys():
        raise LanguageError(
            f"keyed_by: expected some of {sorted(properties)}, got {short_repr(sorted(map(str, keys)))}"
        )
    substitution = Substitution(substitution_fn, keys, allow_input_subset, allow_output_subset, opens_choices)
    made = Module(name, properties, _check_port_names(name, input_names, output_names), substitution=substitution)
    return made.inputs, made.outputs


def outer_output(output: Output) -> Output:
    """Declare that parts built later, inside substitutions of this part, may read an output; return the output.

    A part inside connects to it as to an output of its own. The module may lead to no other output.

    Parameters
    ----------
    output : Output
        `Output` of a module of the part under construction.

    Raises
    ------
    LanguageError
        If an argument is invalid.
    """
    if not isinstance(output, Output):
        raise LanguageError(f"output: expected an output of a module, got {show_port(output)}")
    if output.module.fragment is not current_fragment(str(output)):
        raise ForeignPort(f"{output}: expected an output of the part under construction: declare it where it is made")
    output.module.fragment.outer_outputs.add(output)
    return output


def _check_port_names(
    name: str, inputs: Iterable[str], outputs: Iterable[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    both = []
    for kind, names in (("input", inputs), ("output", outputs)):
        if isinstance(names, str):
            raise LanguageError(f"{name}: expected a sequence of {kind} names, got {names!r}")
        given = tuple(names)
        if len(set(given)) < len(given):
            raise NameClash(f"{name}: two of its {kind}s have one name: {', '.join(map(str, given))}")
        both.append(given)
    return both[0], both[1]
