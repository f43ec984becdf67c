"""`bostruct problems` and `bostruct methods`: the benchmark problems, and the methods with their domains."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import click

from bostruct.analysis.tables import format_markdown, format_number, format_table
from bostruct.cli.options import error_text, json_option, load_problem, plain_errors
from bostruct.cli.text import Facts, echo_json, format_pairs
from bostruct.display import pluralize

if TYPE_CHECKING:
    from bostruct.contracts import Domain, Presented
    from bostruct.domains.language.graph import IO
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
    click.echo("With the default parameters. `bostruct problems NAME` shows details, and lists the parameters.")
    for name, why in broken.items():
        click.echo(f"left out: {name}: {why}", err=True)


def _table_of(described: list[Facts]) -> str:
    """Return the table of a group, with a column of goals unless all problems have one minimized objective."""
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
            re.split(r"[:;]| \(", entry.get("source", "your file"))[0],
        )
        for entry in described
    ]
    kept = [column for column, name in enumerate(header) if name != "goals" or any(row[column] != "-" for row in rows)]
    return format_table([header[column] for column in kept], [tuple(row[column] for column in kept) for row in rows])


def _describe_installed() -> tuple[list[Facts], dict[str, str]]:
    """Describe the problems of installed packages; list the ones that cannot be loaded with the reason."""
    from bostruct import plugins
    from bostruct.problems import registry

    described, broken = [], plugins.explain_taken(plugins.PROBLEMS, registry.ENTRIES)
    for name, point in registry.list_installed().items():
        try:
            facts = _problem_facts(registry.load(name))
        except ValueError as error:
            broken[name] = error_text(error)
        else:
            summary = plugins.describe_plugin(point)
            described.append({"name": name, "group": "Installed", "summary": summary, "parameters": {}} | facts)
    return described, broken


def _entry(name: str) -> Facts:
    """Describe a problem with its defaults; if it needs a file, omit the facts that depend on it."""
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
    """Format the goals of a problem; "" for one minimized objective, and if they depend on a file."""
    from bostruct.goals.declared import Goals

    goals = Goals.from_json(facts["goals"]) if "goals" in facts else Goals()
    return "" if goals.is_default else str(goals)


def _shape(domain: Domain) -> Facts:
    from bostruct.methods.defaults import stands_for_architectures

    if not domain.variables:
        return {"points": "architectures" if stands_for_architectures(domain) else type(domain).__name__}
    sizes = sorted({variable.size for variable in domain.variables.values()})
    choices = " to ".join(dict.fromkeys(_count(math.log10(size)) for size in (sizes[0], sizes[-1])))
    kinds = ", ".join(sorted({variable.kind for variable in domain.variables.values()}))
    d = len(domain.variables)
    return {
        "points": f"{pluralize(d, 'variable')} ({kinds}), {choices} choices{' each' if d > 1 else ''}",
        "variables": d,
        "choices": choices,
    }


def _count(log10_number: float | None) -> str:
    """Format a number of points, in full up to a million."""
    if log10_number is None:
        return "no end"
    return f"{round(10**log10_number):,}" if log10_number <= 6.0 else f"10^{log10_number:.1f}".removesuffix(".0")


def _describe_one(spec: str, as_json: bool) -> None:
    from bostruct.problems import registry
    from bostruct.problems.registry import CHOICES

    name = spec.partition(":")[0]
    if name == spec and name in registry.ENTRIES and "specification" not in _entry(name):
        facts = _entry(name)  # other facts need a file
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
        sets = facts["configs"]
        configs = f"{len(sets)} sets: {', '.join(map(str, sets))}" if sets else "any"
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


@click.command()
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the tables as Markdown.")
@json_option
def methods(as_markdown: bool, as_json: bool) -> None:
    """List the methods and the domains that each supports.

    In order: `auto`, models, multi-fidelity, without a model, installed packages (entry points `bostruct.methods`).

    \b
    Examples:
      bostruct methods
      bostruct methods --json
    """
    from bostruct import plugins
    from bostruct.methods import METHODS, list_names

    found, broken = {}, plugins.explain_taken(plugins.METHODS, METHODS)
    with plain_errors():
        for name in list_names():
            try:
                found[name] = coverage(name)
            except (TypeError, ValueError) as error:  # from another package
                broken[name] = error_text(error)
    if as_json:
        described = {n: {"summary": summary(n), "refused": refused} for n, refused in found.items()}
        echo_json({"methods": described, "broken": broken})
        return
    for name, why in broken.items():
        click.echo(f"left out: {name}: {why}", err=True)
    domains = list(example_domains())
    reasons = list(dict.fromkeys(why for row in found.values() for why in row.values() if why))
    cells = {None: "yes", **{why: str(i) for i, why in enumerate(reasons, start=1)}}
    rows = [[f"`{name}`" if as_markdown else name, *(cells[row[d]] for d in domains)] for name, row in found.items()]
    show = format_markdown if as_markdown else format_table
    notes = [f"{i}. {why}" for i, why in enumerate(reasons, start=1)]
    click.echo("\n".join([show(["method", *domains], rows), "", "Not supported, errors for examples:", "", *notes]))


def summary(name: str) -> str:
    """Return the first line of a method's docstring."""
    from bostruct.methods import find_method

    return (find_method(name).__doc__ or "").partition("\n")[0]


def coverage(name: str) -> dict[str, str | None]:
    """Return for each type of domain None if a method supports it, otherwise the reason why not."""
    from bostruct.contracts import BostructError
    from bostruct.methods import find_method

    found: dict[str, str | None] = {}
    for kind, domain in example_domains().items():
        try:
            find_method(name)(domain)
            found[kind] = None
        except BostructError as error:
            found[kind] = reason(str(error), name)
    return found


def reason(message: str, name: str) -> str:
    """Return a refusal without the method and the actual value, so that equal reasons are listed once."""
    return message.removeprefix("method: ").removeprefix(f"{name} ").partition(", got ")[0].partition(": no module")[0]


def example_domains() -> dict[str, Domain]:
    """Return a small domain of each type."""
    import networkx

    import bostruct as bo
    from bostruct.language import SearchSpace
    from bostruct.nas.spaces.wrs_cnn import reduced_wrs_cnn

    mixed = {"kind": ["x", "y", "z"], "depth": range(5), "wiring": bo.Graph(networkx.cycle_graph(5))}
    training = {
        "rate": bo.Ordinal([1e-4, 1e-3, 1e-2]),
        "optimizer": ["sgd", "adam"],
        "momentum": bo.Ordinal([0.0, 0.5, 0.9], when={"optimizer": "sgd"}),
        "epochs": bo.Fidelity([1, 3, 9]),
    }
    return {
        "bits": bo.Space({f"b{i}": bool for i in range(6)}),
        "categories, ordinals, graphs": bo.Space(mixed),
        "with constraints": bo.Space(mixed, [_deep]),
        "with conditions": bo.Space(mixed | {"size": bo.Ordinal([1, 2, 4], when={"kind": "x"})}),
        "with a Real": bo.Space(mixed | {"rate": bo.Real(0.0, 1.0)}),
        "permutations": bo.Space({"value": bo.Permutation(range(4)), "kind": ["x", "y", "z"]}),
        "subsets": bo.Space({"value": bo.Subset(range(5), (1, 3)), "kind": ["x", "y", "z"]}),
        "sequences": bo.Space({"value": bo.Sequence("AB", (1, 4)), "kind": ["x", "y", "z"]}),
        "tables": bo.Space({"row": bo.Candidates({"mass": [1.0, 2.5, 4.0, 7.0]}), "depth": range(5)}),
        "with a Fidelity": bo.Space(mixed | {"epochs": bo.Fidelity([1, 3, 9])}),
        "architectures": bo.cnn_domain(),
        "with programs inside": bo.Space(training | {"program": SearchSpace(_layer_chain)}),
        "with architectures inside": bo.Space(training | {"network": bo.cnn_domain()}),
        "programs": SearchSpace(_layer_chain),
        "programs without end": SearchSpace(_endless),
        "programs of layers": SearchSpace(reduced_wrs_cnn()),
    }


def _deep(point: dict[str, Presented]) -> bool:
    return point["depth"] > 1


def _layer_chain() -> IO:
    from bostruct.language import D, siso_repeat

    return siso_repeat(_module, D([1, 2, 3]))


def _endless() -> IO:
    from bostruct.language import D, siso_optional, siso_sequential

    return siso_sequential([_module(), siso_optional(_endless, D([0, 1]))])


def _module() -> IO:
    from bostruct.language import D, siso_module

    return siso_module("Layer", {"units": D([1, 2, 3, 4])})
