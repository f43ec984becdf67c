"""Trials of Optuna are outcomes: a value, a failure or an infeasible point, with the limits that all of them have."""

from __future__ import annotations

import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState, create_trial

from bostruct.integrations.optuna_spaces import count_limits, read_outcome


def trial(value=1.0, **settings):
    state = TrialState.COMPLETE if value is not None else settings.pop("state")
    return create_trial(
        state=state, value=value, params={"x": 0.5}, distributions={"x": FloatDistribution(0.0, 1.0)}, **settings
    )


def test_limits_are_the_constraints_of_all_trials_with_values():
    with_values = [trial(constraints={"a": 1.0, "b": -1.0}), trial(constraints={"b": 0.0})]
    failed = trial(None, state=TrialState.FAIL)
    assert count_limits([*with_values, failed]) == {"b"}
    assert count_limits([trial()], frozenset("ab")) == frozenset()
    assert count_limits([failed]) is None


def test_a_reason_why_a_trial_failed_is_kept():
    failed = trial(None, state=TrialState.FAIL, system_attrs={"fail_reason": "killed"})
    assert read_outcome(failed, ()).failed == "killed"


@pytest.mark.parametrize(("number", "reason"), [(-1.0, None), (2.0, "breaks the constraint c")])
def test_a_constraint_that_is_no_limit_makes_a_point_infeasible(number, reason):
    assert read_outcome(trial(constraints={"c": number}), ()).infeasible == reason
