"""A domain of one's own, once registered, loads from the file of its study alone."""

import pytest

import bostruct as bo
from bostruct.contracts import DomainError
from bostruct.domains import registry
from bostruct.domains.registry import domain_from_json
from tests.permutations import Swaps


def build(data):
    return Swaps(data["n"])


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(registry, "BUILDERS", dict(registry.BUILDERS))


def climb(point):
    return sum(i * v for i, v in enumerate(point))


def test_a_study_loads_from_its_file_alone(tmp_path):
    path = tmp_path / "runs.db"
    with bo.Study(Swaps(4), method="evolution", seed=3, storage=path) as study:
        study.optimize(climb, 13)
    with pytest.raises(DomainError, match=r"got 'permutations' in .*; .*register_domain .* Study\.load as space="):
        bo.Study.load(path)
    bo.register_domain("permutations", build)
    with bo.Study.load(path) as study:
        assert study.domain == Swaps(4)
        resumed = study.optimize(climb, 16)
    with bo.Study(Swaps(4), method="evolution", seed=3) as study:
        whole = study.optimize(climb, 16)
    assert [t.point for t in resumed.trials] == [t.point for t in whole.trials]


def test_so_does_a_joint_domain_that_it_is_a_part_of():
    bo.register_domain("permutations", build)
    domain = bo.joint_domain({"order": Swaps(3), "flag": {"on": bool}})
    assert domain_from_json(domain.to_json()) == domain


def test_refusals():
    bo.register_domain("permutations", build)
    bo.register_domain("permutations", build)
    with pytest.raises(ValueError, match="kind: expected one that is not taken, got 'space'"):
        bo.register_domain("space", build)
    with pytest.raises(ValueError, match="'permutations', which <function build"):
        bo.register_domain("permutations", lambda data: build(data))
    for kind, builder, words in ((3, build, "kind: .* 3"), ("", build, "kind"), ("own", 7, "builder: .* 7")):
        with pytest.raises(TypeError, match=words):
            bo.register_domain(kind, builder)
