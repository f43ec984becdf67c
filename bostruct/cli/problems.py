"""`bostruct problems`: what there is to optimize."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click

from bostruct.analysis.tables import format_number, format_table
from bostruct.cli.options import error_text, json_option, load_problem, plain_errors
from bostruct.cli.text import Facts, echo_json, format_pairs
from bostruct.display import pluralize

if TYPE_CHECKING:
    from bostruct.contracts import Domain
    from bostruct.problems.own import AnyProblem


@click.command()
@click.argument("problem", required=False)
@json_option
def problems(problem: str | None, as_json: bool) -> None:
    """List the benchmark problems, or describe one.

    \b
    Examples:
      bostruct problems
      bostruct problems contamination:case=1203,lambda=0.01
      bostruct problems --json
    """
    with plain_errors():
        if problem is not None:
            _describe_one(problem, as_json)
        else:
            _list_problems(as_json)


def _list_problems(as_json: bool) -> None:
    from bostruct.problems import registry

    described = [_entry(name) for name in registry.ENTRIES]
    installed, broken = _describe_installed()
    described += installed
    if as_json:
        echo_json({"problems": described, "broken": broken})
        return
    for group in dict.fromkeys(entry["group"] for entry in described):
        click.echo(f"{group}\n")
        click.echo(f"{_table_of([entry for entry in described if entry['group'] == group])}\n")
    click.echo("With the default parameters. `bostruct problems NAME` says more, and lists the parameters.")
    for name, why in broken.items():
        click.echo(f"left out: {name}: {why}", err=True)


def _table_of(described: list[Facts]) -> str:
    """Return the table of a group; the goals have a column where some problem has others than to be minimized."""
    header = ("name", "variables", "choices", "goals", "optimum", "noisy", "what it is", "source")
    rows = [
        (
            entry["name"],
            str(entry.get("variables", "-")),
            entry.get("choices", "-"),
            _write_goals(entry) or "-",
            format_number(entry.get("optimum")),
            {True: "yes", False: "no"}.get(entry.get("noisy"), "-"),  # type: ignore[arg-type]
            entry["summary"],
            _short_source(entry.get("source", "your file")),
        )
        for entry in described
    ]
    kept = [column for column, name in enumerate(header) if name != "goals" or any(row[column] != "-" for row in rows)]
    return format_table([header[column] for column in kept], [tuple(row[column] for column in kept) for row in rows])


def _describe_installed() -> tuple[list[Facts], dict[str, str]]:
    """Describe the problems that installed packages bring; those that cannot be loaded are named, with the reason."""
    from bostruct.plugins import lookup
    from bostruct.problems import registry

    described, broken = [], lookup.explain_taken(lookup.PROBLEMS, registry.ENTRIES)
    for name, point in registry.list_installed().items():
        try:
            facts = _problem_facts(registry.load(name))
        except ValueError as error:
            broken[name] = error_text(error)
        else:
            described.append(
                {"name": name, "group": "Installed", "summary": lookup.describe_plugin(point), "parameters": {}} | facts
            )
    return described, broken


def _short_source(source: str) -> str:
    return source.partition(":")[0].partition(";")[0].partition(" (")[0]


def _entry(name: str) -> Facts:
    """Describe a problem with its defaults; where it needs a file, without what only the file knows."""
    from bostruct.problems import registry

    if name not in registry.ENTRIES:
        return {"name": name, "group": "Your own", "summary": "a problem of your own", "parameters": {}}
    entry = registry.ENTRIES[name]
    listed = {
        "name": name,
        "group": entry.group,
        "summary": entry.summary,
        "parameters": {parameter.name: parameter.default or None for parameter in entry.parameters},
    }
    if any(not parameter.default for parameter in entry.parameters):
        return listed
    return listed | _problem_facts(load_problem(name))


def _problem_facts(problem: AnyProblem) -> Facts:
    size = problem.space.size
    return {
        "specification": problem.name,
        **_shape(problem.space),
        "log10_points": math.log10(size) if 0 < size < math.inf else None,
        "goals": problem.goals.to_json(),
        "optimum": problem.optimum,
        "optimum_source": problem.optimum_source,
        "noisy": problem.noisy,
        "configs": list(problem.configs),
        "source": problem.source,
    }


def _write_goals(facts: Facts) -> str:
    """Write the goals of a problem; nothing for one objective to be minimized, and where a file is needed to know."""
    from bostruct.goals.declared import Goals

    goals = Goals.from_json(facts["goals"]) if "goals" in facts else Goals()
    return "" if goals.is_default else str(goals)


def _shape(domain: Domain) -> Facts:
    from bostruct.domains.space.space import Space
    from bostruct.methods.defaults import stands_for_architectures

    if not isinstance(domain, Space):
        return {"points": "architectures" if stands_for_architectures(domain) else type(domain).__name__}
    sizes = sorted({variable.size for variable in domain.variables.values()})
    choices = " to ".join(dict.fromkeys(_count(math.log10(size)) for size in (sizes[0], sizes[-1])))
    kinds = ", ".join(sorted({variable.kind for variable in domain.variables.values()}))
    return {
        "points": f"{pluralize(domain.d, 'variable')} ({kinds}), {choices} choices{' each' if domain.d > 1 else ''}",
        "variables": domain.d,
        "choices": choices,
    }


def _count(log10_number: float | None) -> str:
    """Write a number of points, in full up to a million."""
    if log10_number is None:
        return "no end"
    return f"{round(10**log10_number):,}" if log10_number <= 6.0 else f"10^{log10_number:.1f}".removesuffix(".0")


def _describe_one(spec: str, as_json: bool) -> None:
    from bostruct.problems import registry
    from bostruct.problems.entries import CHOICES

    name = spec.partition(":")[0]
    if name == spec and name in registry.ENTRIES and "specification" not in _entry(name):
        facts = _entry(name)  # a file is needed to say more
    else:
        problem = load_problem(spec)
        facts = _entry(spec if name not in registry.ENTRIES else name) | _problem_facts(problem)
    if as_json:
        echo_json(facts)
        return
    parameters = ", ".join(f"{key}={default or '...'}" for key, default in facts["parameters"].items()) or "none"
    relabeled = "; relabel=SEED permutes choices" if facts["group"] == CHOICES else ""
    rows = [("problem", facts["summary"]), ("parameters", parameters + relabeled)]
    if "specification" in facts:
        optimum = "not known" if facts["optimum"] is None else f"{facts['optimum']!r}, {facts['optimum_source']}"
        configs = (
            f"{len(facts['configs'])} sets: {', '.join(map(str, facts['configs']))}" if facts["configs"] else "any"
        )
        rows += [
            ("here", facts["specification"]),
            ("space", facts["points"]),
            *([("goals", goals)] if (goals := _write_goals(facts)) else []),
            ("points", _count(facts["log10_points"])),
            ("optimum", optimum),
            ("noisy", "yes" if facts["noisy"] else "no"),
            ("initial points", configs),
            ("source", facts["source"]),
        ]
    click.echo(format_pairs(rows))
