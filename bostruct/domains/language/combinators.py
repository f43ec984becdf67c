"""Combine parts of a space into larger ones, after Negrinho et al. 2019, figures 13 to 15."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TypeAlias

from bostruct.checks import short_repr
from bostruct.domains.language.errors import LanguageError
from bostruct.domains.language.graph import (
    IO,
    Builder,
    Discrete,
    Hyperparameter,
    Input,
    Output,
    module,
    siso_module,
    substitution_module,
)
from bostruct.domains.language.hyperparameters import order_at
from bostruct.domains.language.values import Value

Builders: TypeAlias = Sequence[Builder] | Mapping[Value, Builder]
Outputs: TypeAlias = dict[str, Output]  # the outputs of a part, by name
REPEATS = "num_reps"


class Identity:
    """The implementation of modules that return their input; compilers skip them."""

    def __repr__(self) -> str:
        return "identity"


IDENTITY = Identity()


def identity() -> IO:
    """Return a part whose output is its input."""
    return siso_module("Identity", implementation=IDENTITY)


def hyperparameter_aggregator(name_to_hyperp: Mapping[str, Hyperparameter]) -> IO:
    """Return an identity module for hyperparameters that no other module uses.

    Parameters
    ----------
    name_to_hyperp : mapping of str to Hyperparameter
        Hyperparameters by local name.
    """
    return siso_module("HyperparameterAggregator", name_to_hyperp, IDENTITY)


def siso_sequential(io_lst: Sequence[IO]) -> IO:
    """Connect parts in sequence, the output ``out`` of each to the input ``in`` of the next.

    Parameters
    ----------
    io_lst : sequence of IO
        Parts (inputs, outputs), at least one. The first may have any inputs, or None if its inputs are connected
        elsewhere. The last may have any outputs.

    Returns
    -------
    IO
        The inputs of the first part and the outputs of the last.

    Raises
    ------
    LanguageError
        If a part is invalid.
    """
    if not io_lst:
        raise LanguageError("io_lst: expected at least one part, got none")
    for position, part in enumerate(io_lst):
        if not isinstance(part, tuple) or len(part) != 2:
            made = "; call it" if callable(part) else ""
            raise LanguageError(
                f"io_lst: expected parts, (inputs, outputs), got {short_repr(part)} at {position}{made}"
            )
        is_first, is_last = position == 0, position == len(io_lst) - 1
        if not (is_first or "in" in (part[0] or ())) or not (is_last or "out" in (part[1] or ())):
            raise LanguageError(
                "io_lst: expected an input 'in' of each part but the first and an output 'out' of each but the last; "
                f"got {short_repr(part)} at {position}"
            )
    for (_, outputs), (inputs, _) in pairwise(io_lst):
        inputs["in"].connect(outputs["out"])
    return io_lst[0][0], io_lst[-1][1]


def mimo_or(
    fn_lst: Builders, h_or: Hyperparameter, input_names: Sequence[str], output_names: Sequence[str], name: str = "Or"
) -> IO:
    """Return a module that is replaced by one of several parts.

    Parameters
    ----------
    fn_lst : Builders
        Functions that each build a part, in a list or dict.
    h_or : Hyperparameter
        The position of the part in `fn_lst`, or its key if `fn_lst` is a dict.
    input_names : sequence of str
        Names of the inputs of every part.
    output_names : sequence of str
        Names of the outputs of every part.
    name : str, default "Or"
        The module's name in paths.

    Raises
    ------
    LanguageError
        If the part is invalid.
    """
    choices: Mapping[Value, Builder] = fn_lst if isinstance(fn_lst, Mapping) else dict(enumerate(fn_lst))
    if not choices:
        raise LanguageError(f"{name}: fn_lst: expected at least one function, got none")
    for builder in choices.values():
        _check_fragment_builder(name, "fn_lst", builder)
    for value in _known_values(h_or):
        _select_builder(choices, value, name)
    return substitution_module(
        name, lambda dh: _select_builder(choices, dh["idx"], name)(), {"idx": h_or}, input_names, output_names
    )


def siso_or(fn_lst: Builders, h_or: Hyperparameter, name: str = "SISOOr") -> IO:
    """Return a module that is replaced by one of several parts with the ports ``in`` and ``out``.

    Parameters
    ----------
    fn_lst : Builders
        Functions that each build a part, in a list or dict.
    h_or : Hyperparameter
        The position of the part in `fn_lst`, or its key if `fn_lst` is a dict.
    name : str, default "SISOOr"
        The module's name in paths.

    Raises
    ------
    LanguageError
        If the part is invalid.
    """
    return mimo_or(fn_lst, h_or, ("in",), ("out",), name)


def _select_builder(choices: Mapping[Value, Builder], value: Value, name: str) -> Builder:
    if value not in choices:
        raise LanguageError(f"{name}: idx: expected one of {', '.join(map(str, choices))}; got {value!r}")
    return choices[value]


def siso_repeat(fn: Builder, h_num_repeats: Hyperparameter, name: str = "SISORepeat") -> IO:
    """Return a chain of parts that the same function builds.

    A longer chain starts with the parts of a shorter one, so their choices keep their paths when the length changes.

    Parameters
    ----------
    fn : Builder
        Function that builds a part with one input and one output.
    h_num_repeats : Hyperparameter
        The number of parts, at least 1.
    name : str, default "SISORepeat"
        The module's name in paths.

    Raises
    ------
    LanguageError
        If the part is invalid.
    """
    _check_fragment_builder(name, "fn", fn)
    return mimo_nested_repeat(
        fn, lambda inputs, outputs: (inputs, apply_part(fn(), outputs)), h_num_repeats, ("in",), ("out",), name
    )


def mimo_nested_repeat(
    fn_first: Builder,
    fn_iter: Callable[[dict[str, Input], dict[str, Output]], IO],
    h_num_repeats: Hyperparameter,
    input_names: Sequence[str],
    output_names: Sequence[str],
    name: str = "MIMONestedRepeat",
) -> IO:
    """Return a first part that a function extends n - 1 times, where n is the value of `h_num_repeats`.

    Parameters
    ----------
    fn_first : Builder
        Function that builds the first part.
    fn_iter : callable
        Function from the (inputs, outputs) of a part to the (inputs, outputs) of the extended part.
    h_num_repeats : Hyperparameter
        Hyperparameter with the value n, at least 1.
    input_names : sequence of str
        Names of the result's inputs.
    output_names : sequence of str
        Names of the result's outputs.
    name : str, default "MIMONestedRepeat"
        The module's name in paths.

    Raises
    ------
    LanguageError
        If the part is invalid.
    """

    def substitution_fn(dh: dict[str, Value]) -> IO:
        made = fn_first()
        for _ in range(_check_count(name, dh[REPEATS]) - 1):
            made = fn_iter(*made)
        return made

    _check_fragment_builder(name, "fn_first", fn_first)
    _check_fragment_builder(name, "fn_iter", fn_iter)
    _check_repeat_counts(name, h_num_repeats)
    return substitution_module(name, substitution_fn, {REPEATS: h_num_repeats}, input_names, output_names, keyed_by=())


def siso_nested_repeat(
    fn_first: Builder,
    fn_iter: Callable[[dict[str, Input], dict[str, Output]], IO],
    h_num_repeats: Hyperparameter,
    name: str = "SISONestedRepeat",
) -> IO:
    """Return a `mimo_nested_repeat` with the ports ``in`` and ``out``.

    Parameters
    ----------
    fn_first : Builder
        Function that builds the first part.
    fn_iter : callable
        Function from the (inputs, outputs) of a part to the (inputs, outputs) of the extended part.
    h_num_repeats : Hyperparameter
        The number of parts, including the first; at least 1.
    name : str, default "SISONestedRepeat"
        The module's name in paths.

    Raises
    ------
    LanguageError
        If the part is invalid.
    """
    return mimo_nested_repeat(fn_first, fn_iter, h_num_repeats, ("in",), ("out",), name)


def siso_optional(fn: Builder, h_opt: Hyperparameter, name: str = "SISOOptional") -> IO:
    """Return the part that `fn` builds if the value of `h_opt` is true, otherwise an identity.

    Parameters
    ----------
    fn : Builder
        Function that builds a part with one input and one output.
    h_opt : Hyperparameter
        Hyperparameter with the values True and False, or 1 and 0.
    name : str, default "SISOOptional"
        The module's name in paths.

    Raises
    ------
    LanguageError
        If the part is invalid.
    """
    _check_fragment_builder(name, "fn", fn)
    for value in _known_values(h_opt):
        _check_flag(name, value)
    return substitution_module(
        name, lambda dh: fn() if _check_flag(name, dh["opt"]) else identity(), {"opt": h_opt}, ("in",), ("out",)
    )


def _check_flag(name: str, value: Value) -> bool:
    if value not in (0, 1):
        raise LanguageError(f"{name}: opt: expected True, False, 1 or 0, got {value!r}")
    return bool(value)


def siso_permutation(fn_lst: Sequence[Builder], h_perm: Hyperparameter, name: str = "SISOPermutation") -> IO:
    """Return a chain of all parts in the order that a hyperparameter selects.

    Parameters
    ----------
    fn_lst : sequence of Builder
        Functions that each build a part with one input and one output.
    h_perm : Hyperparameter
        The position of the permutation in lexicographic order: `OneOfKFactorial` for all permutations, or `D` for the
        positions of some.
    name : str, default "SISOPermutation"
        The module's name in paths.

    Raises
    ------
    LanguageError
        If the part is invalid.
    """

    def substitution_fn(dh: dict[str, Value]) -> IO:
        return siso_sequential([fn_lst[i]() for i in _permutation_at(name, dh["perm_idx"], len(fn_lst))])

    for builder in fn_lst:
        _check_fragment_builder(name, "fn_lst", builder)
    for value in _known_values(h_perm):
        _permutation_at(name, value, len(fn_lst))
    return substitution_module(name, substitution_fn, {"perm_idx": h_perm}, ("in",), ("out",))


def _permutation_at(name: str, position: Value, k: int) -> tuple[int, ...]:
    if isinstance(position, bool) or not isinstance(position, int) or not 0 <= position < math.factorial(k):
        raise LanguageError(f"{name}: perm_idx: expected an integer from 0 to {k}! - 1, got {position!r}")
    return order_at(position, k)


def siso_split_combine(
    fn: Builder, combine_fn: Callable[[int], IO], h_num_splits: Hyperparameter, name: str = "SISOSplitCombine"
) -> IO:
    """Return parallel parts that read the same input and whose outputs are combined.

    Parameters
    ----------
    fn : Builder
        Function that builds a part with one input and one output.
    combine_fn : callable
        Function of n that builds a part with inputs in0 to in(n - 1) and one output.
    h_num_splits : Hyperparameter
        The number n of parallel parts, at least 1.
    name : str, default "SISOSplitCombine"
        The module's name in paths.

    Raises
    ------
    LanguageError
        If the part is invalid.
    """

    def substitution_fn(dh: dict[str, Value]) -> IO:
        n = _check_count(name, dh["num_splits"])
        return _combine_branches([fn] * n, partial(combine_fn, n))

    _check_fragment_builder(name, "fn", fn)
    _check_fragment_builder(name, "combine_fn", combine_fn)
    _check_repeat_counts(name, h_num_splits)
    return substitution_module(name, substitution_fn, {"num_splits": h_num_splits}, ("in",), ("out",), keyed_by=())


def siso_residual(main_fn: Builder, residual_fn: Builder, combine_fn: Builder) -> IO:
    """Return two parallel parts that read the same input and whose outputs are combined.

    Parameters
    ----------
    main_fn : Builder
        Function that builds the part connected to in0.
    residual_fn : Builder
        Function that builds the part connected to in1.
    combine_fn : Builder
        Function that builds a part with the inputs in0 and in1.

    Raises
    ------
    LanguageError
        If the part is invalid.
    """
    return _combine_branches([main_fn, residual_fn], combine_fn)


def _combine_branches(branches: Sequence[Builder], combine_fn: Builder) -> IO:
    """Return parallel parts that read the same input and whose outputs are combined."""
    inputs, outputs = identity()
    combined_inputs, combined_outputs = combine_fn()
    for i, fn in enumerate(branches):
        combined_inputs[f"in{i}"].connect(apply_part(fn(), outputs)["out"])
    return inputs, combined_outputs


def dense_block(
    h_num_applies: Hyperparameter,
    h_end_in_combine: Hyperparameter,
    apply_fn: Builder,
    combine_fn: Callable[[int], IO],
    name: str = "DenseBlock",
) -> IO:
    """Return a dense block: each application of `apply_fn` reads the combination of the input and all earlier outputs.

    Parameters
    ----------
    h_num_applies : Hyperparameter
        The number of applications, at least 1.
    h_end_in_combine : Hyperparameter
        True to also combine the last output with all earlier ones.
    apply_fn : Builder
        Function that builds a part with one input and one output.
    combine_fn : callable
        Function of n that builds a part with inputs in0 to in(n - 1) and one output.
    name : str, default "DenseBlock"
        The module's name in paths.

    Raises
    ------
    LanguageError
        If the part is invalid.
    """

    def substitution_fn(dh: dict[str, Value]) -> IO:
        n = _check_count(name, dh["num_applies"])
        inputs, outputs = identity()
        states = [outputs]
        for _ in range(n):
            states.append(apply_part(apply_fn(), combine_outputs(states, combine_fn)))
        return inputs, combine_outputs(states, combine_fn) if dh["end_in_combine"] else states[-1]

    _check_fragment_builder(name, "apply_fn", apply_fn)
    _check_fragment_builder(name, "combine_fn", combine_fn)
    _check_repeat_counts(name, h_num_applies)
    properties = {"num_applies": h_num_applies, "end_in_combine": h_end_in_combine}
    return substitution_module(name, substitution_fn, properties, ("in",), ("out",), keyed_by=())


def apply_part(part: IO, output: Outputs) -> Outputs:
    """Connect the input ``in`` of a part to the port ``out`` of an output, and return the part's outputs."""
    part[0]["in"].connect(output["out"])
    return part[1]


def combine_outputs(outputs: Sequence[Outputs], combine: Callable[[int], IO]) -> Outputs:
    """Combine several outputs into one; a single output is returned unchanged.

    outputs: at least one.
    combine: function of the number n of inputs that builds a part with inputs in0 to in(n - 1) and one output.
    """
    if len(outputs) == 1:
        return outputs[0]
    inputs, together = combine(len(outputs))
    for i, output in enumerate(outputs):
        inputs[f"in{i}"].connect(output["out"])
    return together


def preproc_apply_postproc(preproc_fn: Builder, apply_fn: Builder, postproc_fn: Builder) -> IO:
    """Return a sequence of three parts.

    Parameters
    ----------
    preproc_fn, apply_fn, postproc_fn : Builder
        Functions that each build a part with one input and one output.
    """
    return siso_sequential([preproc_fn(), apply_fn(), postproc_fn()])


def combiner(n: int, name: str, implementation: object = None) -> IO:
    """Return a module with inputs in0 to in(n - 1) and one output.

    Parameters
    ----------
    n : int
        The number of inputs.
    name : str
        The module's name in paths.
    implementation : object, optional
        The module's implementation for compilers.
    """
    return module(name, {}, [f"in{i}" for i in range(n)], ("out",), implementation)


def _check_fragment_builder(name: str, argument: str, fn: object) -> None:
    if not callable(fn):
        made = "; a part is built where it is needed: write `lambda: ...`" if isinstance(fn, tuple) else ""
        raise LanguageError(f"{name}: {argument}: expected a function that builds a part, got {short_repr(fn)}{made}")


def _check_count(name: str, value: Value) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise LanguageError(f"{name}: expected a number of parts that is an integer of at least 1, got {value!r}")
    return value


def _known_values(h: Hyperparameter) -> tuple[Value, ...]:
    """Return the values that are known before any choice is made."""
    return h.values if isinstance(h, Discrete) else ()


def _check_repeat_counts(name: str, h: Hyperparameter) -> None:
    for value in _known_values(h):
        _check_count(name, value)
