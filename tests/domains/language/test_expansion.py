"""Parts that take the place of a module: where they lie, that they are kept, and what is said where there is none."""

import pytest

from bostruct import language as lang
from bostruct.contracts import Infeasible
from bostruct.domains.language import build
from bostruct.domains.language.build import expand_module
from bostruct.domains.language.errors import LanguageError, NameClash, SubstitutionError, TooDeep
from bostruct.domains.language.walk import begin
from bostruct.language import D, SearchSpace, siso_module


def substituted(fn, values=(1, 2, 3), **settings):
    """The substitution module of a space that is one."""

    def builder():
        return lang.substitution_module("S", fn, {"n": D(values), "c": "constant"}, ["in"], ["out"], **settings)

    (module,) = begin(builder, 10).root.modules
    return module


def test_a_part_is_built_of_values_and_constants_and_kept_by_values():
    seen = []

    def fn(values):
        seen.append(values)
        return siso_module("M", {"n": values["n"]})

    module = substituted(fn)
    part = expand_module(module, (1,), 10)
    assert expand_module(module, (1,), 10) is part
    assert expand_module(module, (2,), 10) is not part
    assert seen == [{"n": 1, "c": "constant"}, {"n": 2, "c": "constant"}]
    assert (part.path, part.host, part.depth) == ("S-0[1]", module, 1)
    assert part.modules[0].path == "S-0[1]/M-0"
    once = expand_module(module, (3,), 10, keep=False)
    assert expand_module(module, (3,), 10, keep=False) is not once


def test_as_many_parts_are_kept_as_there_is_room_for(monkeypatch):
    monkeypatch.setattr(build, "MAX_EXPANSIONS", 2)
    module = substituted(lambda _: siso_module("M"), range(9))
    for n in range(9):
        expand_module(module, (n,), 10)
        assert len(module.expansions) <= 2


def test_why_there_is_no_part_is_kept_too():
    asked = []

    def never(values):
        asked.append(values)
        raise Infeasible("never")

    module = substituted(never)
    for _ in range(3):
        with pytest.raises(Infeasible, match=r"^never$"):
            expand_module(module, (1,), 10)
    assert len(asked) == 1


def test_a_failure_is_told_with_the_place_and_the_values_and_is_tried_again():
    outcomes = iter([OSError("no disk"), siso_module])

    def unsteady(_):
        if isinstance(outcome := next(outcomes), Exception):
            raise outcome
        return outcome("M")

    module = substituted(unsteady)
    with pytest.raises(SubstitutionError, match=r"S-0: its function failed for \{'n': 1\}: OSError\('no disk'\)"):
        expand_module(module, (1,), 10)
    assert expand_module(module, (1,), 10).modules[0].kind == "M"


def test_errors_of_the_language_keep_their_kind_and_say_the_place_once():
    def clash(_):
        lang.module("A", {}, ["x", "x"])

    with pytest.raises(NameClash, match=r"^S-0: A: two of its inputs have the same name"):
        expand_module(substituted(clash), (1,), 10)
    with pytest.raises(LanguageError, match=r"^S-0\[1\]: expected its function to return \(inputs, outputs\)"):
        expand_module(substituted(lambda _: None), (1,), 10)


def test_parts_nest_as_deep_as_allowed():
    outer = substituted(lambda _: lang.substitution_module("T", lambda _: siso_module("M"), {}, ["in"], ["out"]))
    (inner,) = expand_module(outer, (1,), 1).modules
    assert expand_module(inner, (), 2).path == "S-0[1]/T-0"
    inner.expansions.clear()
    with pytest.raises(TooDeep, match=r"S-0\[1\]/T-0: more than 1 nested substitutions"):
        expand_module(inner, (), 1)


def test_different_values_lead_to_different_places():
    alike = [1, "1", None, "None", True, "True", "", (), ("",), (1, 2), "(1,2)", ("1", 2), '"1"', "1,2", "1%2C2", 1.5]
    alike += ["1.5", "a,b", "a%2Cb", "a/b", "a]", "[", ("a", "b"), ("a,b",), "inf", "relu", "3x3"]
    values = [value for i, value in enumerate(alike) if value not in alike[:i]]  # True is 1

    def opened(_):
        return lang.siso_module("M", {"x": D([0])})

    def space(names):
        return SearchSpace(
            lambda: lang.substitution_module("S", opened, {n: D(values) for n in names}, ["in"], ["out"])
        )

    places = [next(key for key in trace if key.endswith(".x")) for trace in space("ab").enumerate()]
    assert len(set(places)) == len(places) == len(values) ** 2
    a = space("a")
    found = {trace["S-0.a"]: list(trace)[-1] for trace in a.enumerate()}
    for value, spelled in {"relu": "relu", 1: "1", "1": '"1"', None: "None", "a/b": "a%2Fb", (1, 2): "(1,2)"}.items():
        assert found[value] == f"S-0[{spelled}]/M-0.x"
    assert all(a.replay(trace).trace == trace for trace in a.enumerate())
