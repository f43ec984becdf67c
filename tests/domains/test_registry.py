"""Domains from their descriptions: every kind that can be, rebuilt from JSON; the others refused by name."""

import json

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import DomainError
from bostruct.domains.architecture.table import TableDomain
from bostruct.domains.registry import BUILDERS, domain_from_json
from bostruct.language import SearchSpace
from bostruct.testing.domain_laws import check_description
from examples.language_figures import figure_4
from tests.architectures import SMALL_CNN, SMALL_MLP

SPACE = bo.Space({"a": bool, "b": bo.Ordinal([1, 2, 3]), "c": bo.Real(0.0, 1.0)})
DOMAINS = {
    "space": SPACE,
    "architecture": SMALL_CNN,
    "table": TableDomain("transnas-micro"),
    "mixed": bo.Space({"a": bool, "x": SMALL_CNN, "y": {"b": [1, 2], "z": SMALL_MLP}, "rate": bo.Real(0.0, 1.0)}),
    "joint": bo.joint_domain({"x": bo.Space({"a": bool}), "y": bo.joint_domain({"z": SMALL_MLP, "b": SPACE})}),
}


@pytest.mark.parametrize("kind", DOMAINS)
def test_a_domain_comes_back_from_its_description(kind):
    domain = DOMAINS[kind]
    description = json.loads(json.dumps(domain.to_json()))
    assert description["domain"] == kind
    assert type(domain_from_json(description)) is type(domain)
    check_description(domain, rebuildable=True)


def test_each_kind_is_tested_here():
    assert set(BUILDERS) == {*DOMAINS, "language"}


def test_points_that_were_stored_are_read_by_the_domain_that_comes_back():
    for domain in DOMAINS.values():
        again = domain_from_json(json.loads(json.dumps(domain.to_json())))
        for x in domain.sample(3, np.random.default_rng(0)):
            assert again.present(again.decode(domain.encode(x))) == domain.present(x)


def test_search_spaces_of_programs_are_functions_which_no_file_holds():
    description = SearchSpace(figure_4).to_json()
    said = r"the search space figure_4 is a function, which cannot be stored$"
    with pytest.raises(DomainError, match=said):
        domain_from_json(description)
    with pytest.raises(DomainError, match=said):
        domain_from_json({"domain": "joint", "parts": {"a": DOMAINS["space"].to_json(), "b": description}})


@pytest.mark.parametrize("data", [{}, {"domain": "tree"}, {"domain": None, "parts": {}}])
def test_other_descriptions_are_refused_with_what_there_is(data):
    with pytest.raises(DomainError, match=r"domain: expected one of space, architecture, .* in the description"):
        domain_from_json(data)
