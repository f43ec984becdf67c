"""What `run` and `show` say that a study has found."""

import json

import pytest

import bostruct as bo
from bostruct.cli.text import describe_findings, incumbent_row, list_findings

SPACE = {"x": range(4), "y": range(4)}


def study_of(value, **declared):
    study = bo.Study(SPACE, method="random", seed=0, **declared)
    for point in ({"x": 1, "y": 3}, {"x": 2, "y": 0}, {"x": 3, "y": 1}):
        study.tell(study.ask(), value(point))
    return study


def test_one_objective_has_a_best_trial_and_a_line_of_values():
    result = study_of(lambda point: float(point["y"])).result
    facts = describe_findings(result)
    assert (facts["best_value"], facts["best_trial"], facts["feasible"]) == (0.0, 1, None)
    assert json.loads(json.dumps(facts, default=str))["best_point"] == result.best_point
    assert dict(list_findings(facts, result))["best value"] == "0 (trial 1)"
    assert [name for name, _ in list_findings(facts, result, with_points=True)] == [
        "best value",
        "best point",
        "recommended",
    ]
    assert incumbent_row(result)[1].endswith("3 to 0")


@pytest.mark.parametrize(("most", "kept"), [(0.5, 1), (-1.0, 0)])
def test_limits_are_counted(most, kept):
    result = study_of(
        lambda point: {"value": float(point["x"]), "constraints": {"size": float(point["y"])}},
        constraints={"size": ("<=", most)},
    ).result
    facts = describe_findings(result)
    rows = dict(list_findings(facts, result))
    assert rows["feasible"] == f"{kept} of 3 completed trials"
    assert ("nothing_feasible" in facts) == (kept == 0)
    assert rows["best value"].startswith("none: no trial satisfies all constraints" if kept == 0 else "2 (trial 1")
    assert rows.get("it measures") == ("size 0" if kept else None)


def test_several_objectives_have_a_front_and_a_volume_with_its_corner():
    result = study_of(lambda point: (float(point["x"]), float(point["y"])), directions=["minimize", "minimize"]).result
    facts = describe_findings(result, (4.0, 4.0))
    assert [one["trial"] for one in facts["front"]] == [0, 1]
    assert facts["hypervolume"] == 9.0  # 3 x 1, and 2 x 3 more
    assert dict(list_findings(facts, result))["hypervolume"] == "9 up to the corner (4, 4)"
