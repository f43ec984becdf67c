"""`bostruct methods`: which method searches what, found out by asking each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bostruct.analysis.tables import format_markdown, format_table
from bostruct.cli.options import error_text, json_option, plain_errors
from bostruct.cli.text import echo_json

if TYPE_CHECKING:
    from bostruct.contracts import Domain, Presented
    from bostruct.domains.language.graph import IO


@click.command()
@click.option("--markdown", "as_markdown", is_flag=True, help="The tables of docs/methods.md.")
@json_option
def methods(as_markdown: bool, as_json: bool) -> None:
    """List the methods, and which domains each searches: `auto`, models, cheap evaluations first, without a model.

    Methods of installed packages come last (entry points `bostruct.methods`).

    \b
    Examples:
      bostruct methods
      bostruct methods --json
    """
    from bostruct.methods import METHODS, list_names
    from bostruct.plugins import lookup

    found, broken = {}, lookup.explain_taken(lookup.METHODS, METHODS)
    with plain_errors():
        for name in list_names():
            try:
                found[name] = coverage(name)
            except (TypeError, ValueError) as error:  # of another package
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
    click.echo("\n".join([show(["method", *domains], rows), "", "Refused, with these words:", "", *notes]))


def summary(name: str) -> str:
    """Return the first line of what a method says of itself.

    name: of the method.
    """
    from bostruct.methods import find_method

    return (find_method(name).__doc__ or "").partition("\n")[0]


def coverage(name: str) -> dict[str, str | None]:
    """Return for each kind of domain None where a method searches it, else why the method refuses.

    name: of the method.
    """
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
    """Return a refusal without the name of the method and without what it was given, so that alike ones are told once.

    message: of the error.
    name: of the method.
    """
    return message.removeprefix("method: ").removeprefix(f"{name} ").partition(", got ")[0].partition(": no module")[0]


def example_domains() -> dict[str, Domain]:
    """Return a small domain of each kind."""
    import networkx

    import bostruct as bo
    from bostruct.language import SearchSpace
    from bostruct.nas.spaces.wrs_cnn import reduced_wrs_cnn

    mixed = {"kind": ["x", "y", "z"], "depth": range(5), "wiring": bo.Graph(networkx.cycle_graph(5))}
    training = {
        "rate": bo.Real(1e-5, 1e-1, log=True),
        "optimizer": ["sgd", "adam"],
        "momentum": bo.Real(0.0, 0.99, when={"optimizer": "sgd"}),
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
        "with programs inside": bo.Space(training | {"program": SearchSpace(_chain)}),
        "with architectures inside": bo.Space(training | {"network": bo.cnn_domain()}),
        "programs": SearchSpace(_chain),
        "programs without end": SearchSpace(_endless),
        "programs of layers": SearchSpace(reduced_wrs_cnn()),
    }


def _deep(point: dict[str, Presented]) -> bool:
    return point["depth"] > 1


def _chain() -> IO:
    from bostruct.language import D, siso_repeat

    return siso_repeat(_module, D([1, 2, 3]))


def _endless() -> IO:
    from bostruct.language import D, siso_optional, siso_sequential

    return siso_sequential([_module(), siso_optional(_endless, D([0, 1]))])


def _module() -> IO:
    from bostruct.language import D, siso_module

    return siso_module("Layer", {"units": D([1, 2, 3, 4])})
