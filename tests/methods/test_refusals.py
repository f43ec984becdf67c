"""Refusals name the domain, the variable or the part, and the methods that do serve it."""

from __future__ import annotations

import re

import pytest

import bostruct as bo
from bostruct import methods
from bostruct.contracts import Domain, DomainError
from bostruct.language import SearchSpace
from bostruct.methods import list_methods
from bostruct.methods.refusals import refuse_numbers
from examples.language_figures import figure_4
from tests.permutations import Swaps

BITS = bo.Space({f"b{i}": bool for i in range(6)})
RATES = bo.Space({"b": bool, "rate": bo.Real(0.0, 1.0), "other": bo.Real(0.0, 1.0)})
PROGRAMS = SearchSpace(figure_4)


class Words(Domain):
    """A domain of the user's own, of words."""

    def sample(self, m, rng):
        del rng
        return ["word"] * m


@pytest.mark.parametrize(
    ("given", "hint"), [(3, ""), (Words(), ""), (methods.METHODS["random"], "; call it with the space first")]
)
def test_what_is_no_method_is_refused(given, hint):
    with pytest.raises(
        TypeError, match=rf"^method: expected a name or a bostruct\.contracts\.Searcher .*, got .*{re.escape(hint)}$"
    ):
        methods.searcher(given, BITS)


class Changing(Words):
    def mutate(self, x, rng):
        del rng
        return x + "s"


@pytest.mark.parametrize(
    ("domain", "label"),
    [
        (BITS, "Space"),
        (PROGRAMS, "SearchSpace"),
        (bo.mlp_domain(), "ArchitectureDomain"),
        (bo.joint_domain({"a": BITS, "b": {"x": bool}}), "a joint domain"),
        (Words(), "Words"),
    ],
)
def test_domains_have_names(domain, label):
    assert domain.label_in_messages == label


def test_the_first_real_variable_is_named_with_what_can_search_it():
    with pytest.raises(DomainError, match="mcts cannot search the Real variable 'rate'") as refused:
        methods.searcher("mcts", RATES)
    named = re.search("; (.*) can search Space$", str(refused.value))
    assert named is not None
    listed = re.findall("[a-z-]+", named[1].replace(" and ", " "))
    assert listed == list_methods(RATES)
    assert {"auto", "smac", "wrs", "random"} <= set(listed)


@pytest.mark.parametrize(("method", "domain"), [("combo", bo.mlp_domain()), ("combo", PROGRAMS), ("mcts", Changing())])
def test_a_refusal_lists_the_methods_of_the_registry_that_fit(method, domain, monkeypatch):
    monkeypatch.setitem(methods.METHODS, "my-own", methods.METHODS["random"])
    with pytest.raises(DomainError) as refused:
        methods.searcher(method, domain)
    able = [name for name in methods.METHODS if can_build(name, domain)]
    assert str(refused.value).endswith(f"; {', '.join(able[:-1])} and my-own can search {domain.label_in_messages}")
    assert ("nasbot" in able) == (domain is not PROGRAMS and not isinstance(domain, Changing))


@pytest.mark.parametrize("domain", [BITS, PROGRAMS, bo.mlp_domain(), bo.joint_domain({"a": PROGRAMS, "b": BITS})])
def test_what_has_no_real_passes_and_is_refused_beside_one(domain):
    refuse_numbers("mcts", domain)
    with pytest.raises(DomainError, match=r"the Real variable 'rates\.rate'"):
        refuse_numbers("mcts", bo.joint_domain({"own": domain, "rates": RATES}))


@pytest.mark.parametrize("method", ["combo", "bocs", "mcts", "smbo-mcts"])
def test_each_structure_and_number_is_named_and_the_advice_holds(method):
    space = bo.Space({"p": bo.Permutation(range(4)), "b": bool, "rate": bo.Real(0, 1), "s": bo.Subset(range(4), 2)})
    with pytest.raises(DomainError) as refused:
        methods.searcher(method, space)
    named = "the Permutation variable 'p', the Real variable 'rate' and the Subset variable 's'"
    assert str(refused.value) == (
        f"method: {method} cannot search {named}; auto, evolution, regularized-evolution, annealing, hill-climbing and "
        "random can search Space"
    )


def test_many_numbers_are_named_by_the_first_ones_and_smbo_takes_the_structure_beside_them():
    numbers = {f"r{i}": bo.Real(0, 1) for i in range(9)}
    with pytest.raises(
        DomainError, match=r"the Real variable 'r3' and 5 more, unless each is .*; auto, .* random can search Space"
    ):
        methods.searcher("smbo", bo.Space({"p": bo.Permutation(range(4)), **numbers}))


@pytest.mark.parametrize("method", ["combo", "bocs"])
def test_conditions_come_first_so_that_no_advice_is_refused(method):
    space = bo.Space({"b": bool, "r": bo.Real(0, 1), "x": bo.Integer(1, 3, when={"b": True})})
    with pytest.raises(DomainError, match=r"conditions, and 'x' has when=; auto, smac.* can search Space"):
        methods.searcher(method, space)


@pytest.mark.parametrize("method", ["tpe", "wrs", "mcts"])
def test_a_structure_of_a_part_is_named_with_the_part(method):
    space = bo.Space({"b": bool, "d": {"p": bo.Permutation(range(4)), "c": bool}})
    with pytest.raises(
        DomainError, match="got Space with the Permutation 'p' as the part 'd', which is not one choice"
    ):
        methods.searcher(method, space)


def test_a_real_variable_of_a_part_is_named():
    named = r"the Real variable 'b\.c\.rate' and the Real variable 'b\.c\.other'"
    with pytest.raises(DomainError, match=rf"mcts cannot search {named}, .*numbers; auto, .* can search "):
        methods.searcher("mcts", bo.joint_domain({"a": BITS, "b": bo.joint_domain({"c": RATES})}))


@pytest.mark.parametrize(
    ("method", "domain", "why"),
    [
        ("combo", PROGRAMS, "combo needs a Space, got SearchSpace"),
        ("combo", RATES, "combo cannot search the Real variable 'rate'"),
    ],
)
def test_methods_by_name_refuse_what_they_cannot_search(method, domain, why):
    with pytest.raises(DomainError, match=why):
        methods.searcher(method, domain)


def test_bayesian_says_which_kernel_it_lacks():
    for domain, lacking in (
        (Swaps(4), "Swaps"),
        (bo.joint_domain({"a": BITS, "orders": Swaps(4)}), r"Swaps \(the part 'orders'\)"),
    ):
        with pytest.raises(DomainError, match=f"^method: bayesian has no default kernel for {lacking}, which has n"):
            methods.bayesian(domain)


SOME = bo.Permutation(range(5), length=3)
STRUCTURES = (bo.Permutation(range(4)), SOME, bo.Subset(range(5), (1, 2)), bo.Sequence(range(3), (2, 3)))
SEARCHES_WIDE = {"auto", "evolution", "regularized-evolution", "annealing", "hill-climbing", "smbo", "random"}


@pytest.mark.parametrize("method", methods.METHODS)
@pytest.mark.parametrize("kind", STRUCTURES, ids=lambda kind: kind.kind)
def test_a_space_with_a_wide_variable_is_searched_or_refused_with_the_reason(method, kind):
    space = bo.Space({"wide": kind, "b": bool})

    def run():
        return bo.minimize(lambda point: point["wide"][0] - point["b"], space, 12, method=method, seed=0)

    if method in SEARCHES_WIDE:
        assert len({(trial.point["wide"], trial.point["b"]) for trial in run().trials}) == 12
    else:
        with pytest.raises(DomainError, match=r"wide|Fidelity|architectures"):
            run()


@pytest.mark.parametrize("method", methods.METHODS)
def test_a_space_with_a_table_is_searched_or_refused_with_the_reason(method):
    space = bo.Space({"row": bo.Candidates({"a": [1.0, 3.0, 2.0, 5.0]}), "b": bool})

    def run():
        return bo.minimize(lambda point: point["row"] - point["b"], space, 8, method=method, seed=0)

    if method in SEARCHES_WIDE or method in ("bocs", "mcts", "smac", "smbo-mcts", "tpe", "wrs"):
        assert len({(trial.point["row"], trial.point["b"]) for trial in run().trials}) == 8
    else:
        with pytest.raises(DomainError, match=r"only by graphs, and 'row' defines|Fidelity|architectures"):
            run()


@pytest.mark.parametrize(
    "domain",
    [
        *(bo.Space({"wide": kind, "b": bool}) for kind in STRUCTURES),
        bo.Space({"b": bool, "wide": bo.Permutation(range(4), when={"b": True})}),
        BITS,
        RATES,
        PROGRAMS,
        bo.mlp_domain(),
        bo.Space({"b": bool, "net": bo.mlp_domain()}),
        bo.joint_domain({"a": BITS, "b": RATES}),
    ],
    ids=lambda one: one.label_in_messages,
)
def test_methods_that_a_refusal_names_can_search_the_domain(domain):
    names = list_methods(domain)
    assert ("smbo" in names) == can_build("smbo", domain)
    for method in names:
        methods.searcher(method, domain)


def can_build(method, domain):
    try:
        methods.searcher(method, domain)
    except DomainError:
        return False
    return True


def test_a_refusal_of_conditions_names_methods_that_search_the_variables():
    wide = bo.Space({"b": bool, "wide": bo.Permutation(range(4), when={"b": True})})
    with pytest.raises(DomainError, match=r"has when=; auto, .*hill-climbing and random can search Space$"):
        methods.searcher("combo", wide)


def test_variables_of_one_name_in_two_parts_are_all_looked_at():
    space = bo.Space({"d": {"x": bool, "y": bool}, "e": {"x": bo.Real(0, 1)}})
    with pytest.raises(bo.DomainError, match=r"cannot search the Real variable 'e\.x'"):
        methods.searcher("mcts", space)
