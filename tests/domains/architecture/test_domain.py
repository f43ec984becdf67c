"""Domains of architectures: the laws of a domain, pools, bounds, and the nine modifiers, many thousand times."""

import contextlib
import dataclasses
import hashlib
import itertools
import json
import time

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import DomainError, PointError, SpaceExhausted
from bostruct.domains.architecture import domain as domain_module
from bostruct.domains.architecture import modifiers
from bostruct.domains.architecture.domain import (
    ArchitectureDomain,
    Bounds,
    cnn_domain,
    cnn_pool,
    mlp_domain,
    mlp_pool,
    vgg,
)
from bostruct.domains.architecture.layers import CNN, MLP, RECTIFIERS, SIGMOIDS, Label, Layer
from bostruct.domains.architecture.modifiers import SWAPS, draw_label, enumerate_changes
from bostruct.domains.architecture.value import Architecture
from bostruct.domains.registry import domain_from_json
from bostruct.testing.change_laws import check_mutation
from bostruct.testing.domain_laws import check_domain
from tests.architectures import GOLDEN, SMALL_CNN, SMALL_MLP

DOMAINS = {"cnn": cnn_domain(), "mlp": mlp_domain(), "classifier": mlp_domain(decision="softmax"), "small": SMALL_CNN}


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.mark.parametrize("name", DOMAINS)
def test_laws_of_a_domain(name, rng):
    domain = DOMAINS[name]
    check_domain(domain, rng)
    for x in domain.pool:
        check_mutation(domain, x, rng)
    assert domain.size == float("inf")


def test_unseen(rng, monkeypatch):
    domain = DOMAINS["mlp"]
    seen = frozenset(domain.keys(domain.sample(30, np.random.default_rng(3))))
    assert domain.sample_unseen(seen, rng).fingerprint not in seen  # the same stream as drew those seen
    stuck = domain.sample(1, rng)
    monkeypatch.setattr(ArchitectureDomain, "sample", lambda _domain, m, _rng: stuck * m)
    found = domain.sample_unseen(frozenset(domain.keys(stuck)), rng)
    assert found in domain.pool
    monkeypatch.setattr(domain_module, "MAX_LISTED_CHANGES", 0)
    with pytest.raises(SpaceExhausted, match=f"no unseen architecture in 1024 draws; {len(domain.pool) + 1} were seen"):
        domain.sample_unseen(frozenset(domain.keys([*stuck, *domain.pool])), rng)


CHAINS = Bounds(min_layers=4, max_layers=5, min_units=8, max_units=8, max_edges=4, max_halvings=0)
WIDE = dataclasses.replace(CHAINS, max_layers=4, max_units=9)
SMALL = {
    "mlp": mlp_domain(CHAINS, [Architecture.chain("relu-8 linear")]),
    "wide mlp": mlp_domain(dataclasses.replace(WIDE, max_edges=3), [Architecture.chain("relu-8 linear")]),
    "wide cnn": cnn_domain(WIDE, [Architecture.chain("conv3-8 softmax")]),
    "cnn": cnn_domain(CHAINS, [Architecture.chain("conv3-8 softmax")]),
}


def chains(domain: ArchitectureDomain) -> set[Architecture]:
    """All of a domain that are chains of one or two processing layers and not fully connected."""
    labels = [label for label in domain.family.labels if label.role == "processing" and not label.dense]
    units = range(domain.bounds.min_units, domain.bounds.max_units + 1)
    layers = [Layer(label.name, n) for label in labels for n in (units if label.units else (None,))]
    first, *_, decision, last = domain.pool[0].layers
    found = set()
    for inner in [*itertools.product(layers), *itertools.product(layers, repeat=2)]:
        edges = list(itertools.pairwise(range(len(inner) + 3)))
        with contextlib.suppress(PointError):
            domain.check(x := Architecture([first, *inner, decision, last], edges, domain.family))
            found.add(x)
    return found


@pytest.mark.parametrize("name", [pytest.param(x, marks=[] if "wide" in x else pytest.mark.slow) for x in SMALL])
def test_a_small_domain_is_proposed_wholly_and_then_said_to_be_exhausted(name, rng):
    domain = SMALL[name]
    proposed: set[Architecture] = set()

    def go_on() -> None:
        for _ in range(100):
            proposed.add(domain.sample_unseen(frozenset(domain.keys(proposed)), rng))

    with pytest.raises(SpaceExhausted, match="no change leads to an unseen architecture"):
        go_on()
    assert {x for x in proposed if not any(layer.label == "fc" for layer in x.layers)} == chains(domain)
    assert set(domain.sample(30, rng)) <= proposed
    began = time.monotonic()
    with pytest.raises(SpaceExhausted, match=f"{len(proposed)} were seen"):
        domain.sample_unseen(frozenset(domain.keys(proposed)), rng)
    assert time.monotonic() - began < 10.0


@pytest.mark.parametrize("chain", ["conv3-16 conv5-24 max-pool res3-16 fc-8 softmax", "relu-8 tanh-9 elu-9 linear"])
def test_listed_changes_are_those_that_can_be_drawn(chain, rng):
    x = Architecture.chain(chain)
    for step in (
        modifiers.duplicate_path,
        modifiers.skip,
        modifiers.swap_label,
    ):  # one after the other: graphs with branches
        listed = {(y.layers, y.edges) for y in enumerate_changes(x) if y is not None}
        drawn = set()
        for modifier, _ in modifiers.MODIFIERS:
            for _ in range(200):
                with contextlib.suppress(PointError):
                    y = modifier(x, rng)
                    drawn.add((y.layers, y.edges))
        assert drawn <= listed
        assert len(drawn) > len(listed) / 3
        with contextlib.suppress(PointError):
            x = step(x, rng)


def test_what_a_user_may_write():
    domain = DOMAINS["mlp"]
    x = domain.parse("relu-16 tanh-32 relu-16 linear")
    assert x.family == MLP
    assert domain.parse(x.to_json()) == domain.parse(["relu-16", "tanh-32", "relu-16", "linear"]) == x
    with pytest.raises(PointError, match="expected an Architecture, got 7"):
        domain.parse(7)
    with pytest.raises(PointError, match="of the family mlp, got one of cnn"):
        domain.parse(GOLDEN["VGG1"])


def test_cnn_pool():
    pool = cnn_pool()
    assert [len(x) for x in pool] == [18, 21, 24, 27, 10, 13, 16, 19, 22, 23, 13, 15]
    assert len({x.fingerprint for x in pool}) == 12
    assert pool[0] == GOLDEN["VGG1"]
    assert [len(p) for p in pool[11].parents] == [0, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 2, 1, 2]


def test_mlp_pool_has_the_units_that_were_intended():
    first, *others = mlp_pool()
    assert [layer.units for layer in first.layers] == [None, 64, 64, 128, 128, 256, 256, None, None]
    assert [len(x) - 3 for x in (first, *others)] == [6, 8, 10, 12, 12, 16, 18, 20, 24, 24]
    groups = ["r" if layer.label in RECTIFIERS else "s" for layer in first.layers[1:-2]]
    assert groups == ["r", "r", "s", "s", "r", "r"]
    assert all(layer.label in RECTIFIERS + SIGMOIDS for x in others for layer in x.layers[1:-2])
    assert {x.layers[-2].label for x in mlp_pool("softmax")} == {"softmax"}


BROKEN = [  # of the first VGG
    ({"max_layers": 17}, "layers: expected between 5 and 17, got 18"),
    ({"min_layers": 19}, "layers: expected between 19 and 60, got 18"),
    ({"max_edges": 16}, "edges: expected between 0 and 16, got 17"),
    ({"min_units": 65}, r"layer 1 \(conv3-64\): units: expected between 65 and 1024, got 64"),
    ({"max_units": 511}, r"layer 11 \(conv3-512\): units: expected between 8 and 511, got 512"),
    ({"max_halvings": 4}, r"layer 12 \(max-pool\): halvings of the image: expected between 0 and 4, got 5"),
    ({"max_mass": 100.0}, "mass of the processing layers: expected between 0 and 100, got"),
    ({"min_mass": 1e9}, r"mass of the processing layers: expected at least 1e\+09, got"),
    ({"max_mass": 302_881.0, "mass": "total"}, "total mass: expected between 0 and 302881, got 302881"),
]
BRANCHES_BROKEN = [
    ({"max_in_degree": 1}, r"layer 5 \(conv5-32\): parents: expected between 0 and 1, got 2"),
    ({"max_out_degree": 1}, r"layer 1 \(conv3-16\): children: expected between 0 and 1, got 2"),
]


@pytest.mark.parametrize(
    ("x", "bounds", "words"),
    [(vgg(1), *case) for case in BROKEN] + [(GOLDEN["b"], *case) for case in BRANCHES_BROKEN],
)
def test_bounds_by_their_words(x, bounds, words):
    with pytest.raises(PointError, match=words):
        Bounds(**bounds).check(x)
    with pytest.raises(DomainError, match=r"pool\[0\]: " + words):
        cnn_domain(Bounds(**bounds), pool=[x])
    Bounds(max_in_degree=2).check(GOLDEN["b"])


def test_the_mass_that_is_bounded_may_be_that_of_all_layers():
    """302,881.28 in the released code, 8 % of it fully connected layers at a tenth."""
    Bounds(min_mass=302_881.0, max_mass=302_882.0, mass="total").check(vgg(1))
    domain = cnn_domain(Bounds(max_mass=302_882.0, mass="total"))
    assert vgg(1) in domain.pool
    assert vgg(2) not in domain.pool
    assert domain_from_json(json.loads(json.dumps(domain.to_json()))) == domain
    assert "mass=total" in repr(domain)
    assert "mass" not in cnn_domain().to_json()["bounds"]  # as written before there was a choice


def test_a_pool_may_be_written():
    branched = "ip conv3-16 conv3-16 conv3-32/2 softmax op | 0>1 1>2 1>3 2>3 3>4 4>5"
    family = CNN.with_label(Label("sep3", group="conv", image="strides"), {"conv3": 0.2})
    pool = ["sep3-16 conv3-32/2 softmax", branched, ["conv3-8", ("conv3", 16), "softmax"], vgg(1).to_json()]
    domain = cnn_domain(pool=[*pool[:3], pool[3] | {"family": family.name}], family=family)
    assert {x.family for x in domain.pool} == {family}
    assert (str(domain.pool[1]), domain.parse(branched)) == (branched, domain.pool[1])
    assert mlp_domain(pool=["relu-8 tanh-8 linear"]).pool == (Architecture.chain("relu-8 tanh-8 linear"),)
    with pytest.raises(DomainError, match=r"pool\[1\]: layer 1: label 'sep3' is unknown; the family cnn has"):
        cnn_domain(pool=["conv3-16 conv3-16 softmax", "sep3-16 softmax"])
    with pytest.raises(TypeError, match="pool: expected a list of architectures or of their texts, got 'conv3-16"):
        cnn_domain(pool="conv3-16 conv3-16 softmax")
    with pytest.raises(DomainError, match=r"pool\[0\]: expected an Architecture or the text of one, got 3"):
        cnn_domain(pool=[3])  # type: ignore[list-item]


NO_BOUNDS = [
    ({"max_layers": 4}, "max_layers: expected at least 5, got 4"),
    ({"min_mass": 10.0, "max_mass": 9.0}, "max_mass: expected at least 10, got 9"),
    ({"max_edges": 1.5}, "max_edges: expected an integer"),
    ({"max_halvings": "3"}, "max_halvings: expected a number, math.inf for no bound; got '3'"),
    ({"max_halvings": True}, "max_halvings: expected a number, math.inf for no bound; got True"),
    ({"max_mass": None}, "max_mass: expected a number, math.inf for no bound; got None"),
    ({"mass": "all"}, "mass: expected one of processing, total; got 'all'"),
]


@pytest.mark.parametrize(("bounds", "words"), NO_BOUNDS)
def test_bounds_that_make_no_sense(bounds, words):
    with pytest.raises((ValueError, TypeError), match=words):
        Bounds(**bounds)


def test_bounds_may_be_numbers_of_numpy():
    domain = cnn_domain(Bounds(min_mass=0.5, max_mass=np.inf, max_halvings=np.int64(3), max_layers=np.int32(20)))
    assert domain_from_json(json.loads(json.dumps(domain.to_json()))) == domain


def test_the_default_pool_keeps_what_fits():
    small = cnn_domain(Bounds(max_layers=16))
    assert [len(x) for x in small.pool] == [10, 13, 16, 13, 15]
    words = r"no architecture of the default pool is within the bounds \(the smallest: .*\); pass pool="
    with pytest.raises(DomainError, match=words):
        cnn_domain(Bounds(max_layers=9))
    with pytest.raises(DomainError, match="expected at least one architecture"):
        cnn_domain(pool=[])
    family = CNN.with_label(Label("sep3", group="conv", image="strides"), {"conv3": 0.2}, "separable")
    extended = cnn_domain(family=family)
    assert {x.family.name for x in extended.pool} == {"separable"}
    rebuilt = domain_from_json(json.loads(json.dumps(extended.to_json())))
    assert rebuilt == extended
    walked = extended.sample(40, np.random.default_rng(0))
    assert any(layer.label == "sep3" for x in walked for layer in x.layers)


@pytest.mark.parametrize("times", [150, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("modifier", [modifier for modifier, _ in modifiers.MODIFIERS], ids=lambda m: m.__name__)
def test_a_modifier_gives_another_valid_architecture_or_says_why_not(modifier, times, rng):
    """On pools, and on what mutations have made of them."""
    parents = [*cnn_pool(), *mlp_pool(), *SMALL_MLP.pool, *SMALL_CNN.pool]
    parents += [d.mutate(d.mutate(x, rng), rng) for d in (DOMAINS["cnn"], DOMAINS["mlp"]) for x in d.pool]
    reasons: list[str] = []
    for position in range(times):
        x = parents[position % len(parents)]
        try:
            y = modifier(x, rng)
        except PointError as refusal:
            reasons.append(str(refusal))
            continue
        assert y != x
        assert Architecture(y.layers, y.edges, y.family) == y  # valid when built anew
    assert len(reasons) < times / 4
    assert all(len(reason) > 10 for reason in reasons)


def changed_units(x: Architecture, y: Architecture) -> list[tuple[int, int]]:
    assert y.edges == x.edges
    pairs = [(a.units, b.units) for a, b in zip(x.layers, y.layers, strict=True)]
    return [(a, b) for a, b in pairs if a != b and a is not None and b is not None]


def test_units_change_by_an_eighth(rng):
    x = vgg(1)
    for modifier, factor in ((modifiers.increase_single, 1.125), (modifiers.decrease_single, 0.875)):
        ((before, after),) = changed_units(x, modifier(x, rng))
        assert after == factor * before
    counts = set()
    for _ in range(60):
        pairs = changed_units(x, modifiers.increase_many(x, rng))
        assert all(after == 1.125 * before for before, after in pairs)
        counts.add(len(pairs))
    assert counts == {5, 2, 3, 1}  # 10 layers with units in 2, 4 and 8 groups
    small = Architecture.chain("relu-12 relu-1 linear")
    found = {pair for _ in range(40) for pair in changed_units(small, modifiers.increase_single(small, rng))}
    assert found == {(12, 14), (1, 2)}  # 13.5 rounds up; at least one unit
    with pytest.raises(PointError, match="too few layers"):
        modifiers.decrease_many(small, rng)


def test_swaps_follow_their_table(rng):
    x = Architecture.chain("conv3-16 softmax")
    drawn, reasons = [], []
    for _ in range(2000):
        try:
            drawn.append(modifiers.swap_label(x, rng).layers[1])
        except PointError as refusal:
            reasons.append(str(refusal))
    assert all("a child of the input" in reason for reason in reasons)  # a pool cannot be first
    table = {"res3": 0.25, "res5": 0.25, "conv5": 0.15, "conv7": 0.25}
    shares = {label: sum(layer.label == label for layer in drawn) / 2000 for label in table}
    assert shares == pytest.approx(table, abs=0.04)
    assert len(drawn) / 2000 == pytest.approx(0.9, abs=0.03)
    assert sum(layer.stride == 2 for layer in drawn) / len(drawn) == pytest.approx(0.05, abs=0.02)
    assert {layer.units for layer in drawn} == {16}


def test_a_wedge_takes_the_mean_of_its_neighbors(rng):
    x = Architecture.chain("relu-8 relu-25 linear")
    for _ in range(40):
        new = [layer for layer in modifiers.wedge_layer(x, rng).layers[1:-2] if layer not in x.layers]
        assert {layer.units for layer in new} <= {8, 17, 25}


def test_a_removed_pool_leaves_its_halving_to_its_child(rng):
    x = Architecture.chain("conv3-8 max-pool conv3-9 fc-8 softmax")
    seen = set()
    for _ in range(40):
        try:
            seen.add(" ".join(map(str, modifiers.remove_layer(x, rng).layers[1:-2])))
        except PointError as refusal:
            seen.add(str(refusal)[:25])
    assert "conv3-8 conv3-9/2 fc-8" in seen
    assert "conv3-8 max-pool fc-8" in seen


def test_duplicated_paths_and_skips(rng):
    x = vgg(2)
    for _ in range(50):
        y = modifiers.duplicate_path(x, rng)
        assert len(y) > len(x)
        assert len(y.edges) == len(x.edges) + len(y) - len(x) + 1
        try:
            z = modifiers.skip(x, rng)
        except PointError:
            continue
        pools = sum(layer.label == "avg-pool" for layer in z.layers)
        assert len(z) == len(x) + pools
        assert len(z.edges) == len(x.edges) + pools + 1


@pytest.mark.parametrize("name", ["cnn", "mlp"])
def test_long_evolution(name, rng):
    """400 mutations in a row stay within the bounds, and never return the parent."""
    domain = DOMAINS[name]
    x = domain.pool[0]
    for _ in range(400):
        y = domain.mutate(x, rng)
        domain.check(y)
        assert y != x
        x = y


def test_mutation_says_where_bounds_leave_nothing(rng, monkeypatch):
    x = Architecture.chain("relu-8 linear")
    bounds = dataclasses.replace(Bounds(), min_layers=4, max_layers=4, min_units=8, max_units=8)
    domain = ArchitectureDomain(MLP, bounds, (x,))
    assert domain.mutate(x, rng).layers[1].label in SIGMOIDS  # swapping is the only way
    frozen = ArchitectureDomain(MLP, dataclasses.replace(bounds, max_mass=8.0), (x,))
    monkeypatch.setattr(domain_module, "_MODIFIERS", [modifiers.wedge_layer] * len(modifiers.MODIFIERS))
    with pytest.raises(DomainError, match="no valid change of this architecture"):
        frozen.mutate(x, rng)


def test_public_names():
    assert (bo.cnn_domain(), bo.mlp_domain()) == (cnn_domain(), mlp_domain())
    assert bo.Architecture is Architecture


def proposed(family, m=1500):
    """Labels of layers in single mutations of an architecture that has none of the family's own."""
    start = Architecture.chain("conv3-32 conv3-32 max-pool conv5-64 avg-pool fc-64 softmax", family)
    domain, rng = cnn_domain(pool=[start], family=family), np.random.default_rng(0)
    children = [domain.mutate(start, rng) for _ in range(m)]
    return [{layer.label for layer in x.layers} for x in children]


@pytest.mark.parametrize("image", ["keeps", "strides"])
def test_a_label_of_ones_own_is_proposed(image):
    family = CNN.with_label(Label("sep3", group="conv", image=image), {"conv3": 0.05}, f"cnn with sep3 that {image}")
    share = np.mean(["sep3" in labels for labels in proposed(family)])
    assert 0.02 < share < 0.1


@pytest.mark.parametrize("image", ["keeps", "strides"])
def test_a_label_of_ones_own_is_as_likely_a_swap_as_a_published_one(image, rng):
    family = CNN.with_label(Label("sep3", group="conv", image=image), {"conv3": 0.05}, f"cnn with sep3 that {image}")
    drawn = [draw_label(family, "conv3", rng) for _ in range(7000)]
    assert drawn.count("sep3") / 7000 == pytest.approx(1 / 7, abs=0.015)
    for other, chance in SWAPS["conv3"].items():
        assert drawn.count(other) / 7000 == pytest.approx(6 / 7 * chance, abs=0.02)
    assert "sep3" not in {draw_label(family, "max-pool", rng) for _ in range(100)}  # they may not be matched
    names = {f"{kind}{k}" for kind in ("conv", "res") for k in (3, 5, 7)}
    assert {draw_label(family, "sep3", rng) for _ in range(500)} == names


def test_a_family_without_the_published_labels_draws_its_own(rng):
    labels = [label for label in CNN.labels if label.name not in ("res3", "res5", "res7", "conv7", "avg-pool")]
    costs = (("conv3", "conv5", 0.2),)
    family = dataclasses.replace(CNN, name="small", labels=tuple(labels), costs=costs)
    assert {draw_label(family, "conv3", rng) for _ in range(200)} == {"conv5", "max-pool"}
    with pytest.raises(PointError, match="no label can replace max-pool"):
        draw_label(family, "max-pool", rng)


def test_labels_without_units_get_none(rng):
    family = MLP.with_label(Label("norm", units=False), {"relu": 0.5}, "mlp with norm")
    start = Architecture.chain("relu-16 tanh-16 linear", family)
    domain = mlp_domain(Bounds(min_layers=4), pool=[start], family=family)
    for modifier in (modifiers.wedge_layer, modifiers.swap_label):
        made = [modifier(start, rng) for _ in range(200)]
        assert any(layer == Layer("norm") for x in made for layer in x.layers)
        for x in made:
            domain.check(x)


@pytest.mark.parametrize("domain", ["cnn", "mlp"])
def test_what_the_published_families_draw_is_as_it_always_was(domain):
    """Same seed, same children, whatever else the package learns: stored runs are taken up where they were left."""
    told = hashlib.sha256()
    rng = np.random.default_rng(7)
    for x in DOMAINS[domain].sample(12, rng):
        for _ in range(4):
            x = DOMAINS[domain].mutate(x, rng)
            told.update(str(x).encode())
    assert told.hexdigest()[:16] == {"cnn": "761525a681b6788c", "mlp": "ec89076568ed38f8"}[domain]


def test_dead_ends_of_tight_bounds_end_walks_and_not_studies():
    pool = [Architecture.chain("relu-16 linear"), Architecture.chain("tanh-16 relu-8 linear")]
    domain = bo.mlp_domain(bo.Bounds(min_layers=3, max_layers=5), pool)
    rng = np.random.default_rng(0)
    dead = Architecture(
        ["ip", "linear", "linear", "linear", "op"], [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4)], MLP
    )
    with pytest.raises(DomainError, match="no valid change"):
        domain.mutate(dead, rng)
    for x in domain.sample(60, rng):
        domain.check(x)
    result = bo.minimize(lambda x: float(len(x)), domain, 12, method="annealing", seed=0, progress=False)
    assert result.n_completed == 12
