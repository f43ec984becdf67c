"""Steps that the laws of several parts share: refusals, equal batches that are other objects, poisoned generators."""

from __future__ import annotations

import contextlib
import json
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import sklearn.ensemble  # noqa: F401  it draws from the global generator, and SciPy does, while they are imported

from bostruct.checks import has_capability, short_repr
from bostruct.contracts import Batch, Domain, HasNeighborhoods, Json

NOT_DRAWS = {"RandomState", "Generator", "BitGenerator", "SeedSequence", "default_rng", "get_state", "set_state"}


class SingleChangesPair(NamedTuple):
    """The same points twice. changes: as a domain lists neighborhoods. rows: as an ordinary batch."""

    changes: Batch
    rows: Batch


def is_raised(error: type[Exception], step: Callable[[], object]) -> bool:
    """Tell whether a step raises an error of a kind; another error goes through.

    error: the kind.
    step: a function without arguments.
    """
    try:
        step()
    except error:
        return True
    return False


def read_back(data: Json) -> Json:
    """Return what plain JSON holds of some data; raise AssertionError where JSON cannot hold it.

    data: plain, without NaN and infinities.
    """
    try:
        return json.loads(json.dumps(data, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise AssertionError(f"what goes to disk is plain JSON: {error}, got {short_repr(data)}") from error


def copy_batch(domain: Domain, xs: Batch) -> Batch:
    """Return an equal batch in which the batch and each point are other objects: the points, read back from JSON.

    domain: of the points.
    xs: m points.
    """
    return domain.join([domain.decode(read_back(domain.encode(x))) for x in xs])


def sample_changes(domain: Domain, xs: Batch, most: int, rng: np.random.Generator) -> SingleChangesPair | None:
    """Return neighbors of some points as their domain lists them, and as a batch; None for a domain that lists none.

    domain: any; one with neighborhoods lists them.
    xs: the points.
    most: neighbors of each point, at least 1.
    rng: the only source of chance.
    """
    if not has_capability(domain, HasNeighborhoods):
        return None
    near = domain.sample_neighborhoods(xs, most, rng)[0]
    return SingleChangesPair(near, copy_batch(domain, near)) if len(near) else None


def assert_close(found: Any, expected: Any, tolerance: float, law: str) -> None:
    """Raise AssertionError, which says the law and where two arrays differ, unless they are equal but for rounding.

    found, expected: arrays of one shape.
    tolerance: the largest absolute difference.
    law: that is broken otherwise.
    """
    assert np.shape(found) == np.shape(expected), f"{law}: expected shape {np.shape(expected)}, got {np.shape(found)}"
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=tolerance, err_msg=law)


@contextlib.contextmanager
def no_global_randomness() -> Iterator[None]:
    """Make any use of the global generators of `random` and `numpy.random` fail; notice a use of torch's."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("global random state was used; draw from the generator given")

    seeded = np.random.default_rng

    def refuse_unseeded(seed: Any = None) -> Any:
        return refuse() if seed is None else seeded(seed)

    torch = sys.modules.get("torch")
    torch_state = torch.get_rng_state() if torch else None
    with contextlib.ExitStack() as patches:
        for module, skipped in ((np.random, NOT_DRAWS), (random, set[str]())):
            for name in module.__all__:
                if name not in skipped and not isinstance(getattr(module, name), type):
                    patches.enter_context(patch.object(module, name, refuse))
        patches.enter_context(patch.object(np.random, "default_rng", refuse_unseeded))
        yield
    if torch is not None:
        assert torch.equal(torch.get_rng_state(), torch_state), "torch's global random state was used"
