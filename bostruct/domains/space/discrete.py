"""The variables with listed choices: truth values, categories, ordered values, nodes of a graph, fidelities."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable

from bostruct.checks import check_number, count_own_frames, short_repr
from bostruct.contracts import DomainError, Json, ParsedJson
from bostruct.domains.space.choice_json import choices_from_json
from bostruct.domains.space.choices import ChoiceVariable, check_choices, path_graph
from bostruct.domains.space.clauses import When
from bostruct.domains.space.graphs import (
    MAX_CHOICES,
    MAX_WEIGHT,
    MIN_WEIGHT,
    CompleteGraph,
    WeightedGraph,
    weighted_graph,
    weighted_graph_from_json,
)
from bostruct.domains.space.likeness import (
    Likeness,
    count_degrees,
    likeness_from_json,
    likeness_to_json,
    read_likeness,
    show_likeness,
)
from bostruct.domains.space.variable import NO_DEFAULT

MAX_NAMES = 1_000_000  # the most choices of a Categorical


class Binary(ChoiceVariable):
    """A variable that is False or True. 0 and 1 are accepted.

    Parameters
    ----------
    when : dict, optional
        Conditions under which a point has the variable, see `Space`. By default every point has it.
    default : object, optional
        The value of trials from before the variable was added to the space, see docs/space-changes.md.

    Raises
    ------
    DomainError
        If an argument is invalid.
    """

    values_are_choices = True

    def __init__(self, *, when: When | None = None, default: object = NO_DEFAULT) -> None:
        super().__init__((False, True), CompleteGraph(2), when, default)

    def describe(self) -> dict[str, Json]:
        """Return an empty dict: all binary variables are equal."""
        return {}

    @classmethod
    def from_json(cls, data: ParsedJson) -> Binary:
        del data
        return cls()


class Categorical(ChoiceVariable):
    """A variable with unordered choices. Any two choices are neighbors (complete graph).

    At most one of `descriptors`, `distances` and `kernel` may be given, to define how similar the choices are. A matrix
    that is not positive semi-definite, as a kernel or as squared Euclidean distances, is replaced by the nearest
    positive semi-definite one, with a warning; `likeness.clipped` is the share of its spectrum that was removed.

    Parameters
    ----------
    choices : iterable
        1 to 1,000,000 distinct values. More than 1000 without descriptors, distances or a kernel cause a warning,
        because a model then predicts the same value for all choices that were not tried.
    descriptors : table, optional
        One row of properties for each choice, so that a model can predict choices that were not tried: a pandas
        DataFrame, a dict of columns, a list of dicts, or an array of shape (choices, columns). The index of a DataFrame
        names the choices, in any order. A default index 0, 1, ... and other tables follow the order of the choices.
        Columns are used as in `Candidates`.
    distances : matrix, optional
        Symmetric distances between the choices, at least 0, as an array of shape (choices, choices) or a DataFrame.
        Models use exp(-distance^2 / (2 l^2)).
    kernel : matrix, optional
        Symmetric similarities of the choices with a positive diagonal, as an array of shape (choices, choices) or a
        DataFrame. It is scaled to a diagonal of ones; models use exp((kernel - 1) / l^2).
    when : dict, optional
        Conditions under which a point has the variable, see `Space`. By default every point has it.
    default : object, optional
        The value of trials from before the variable was added to the space, see docs/space-changes.md.

    Raises
    ------
    DomainError
        If an argument is invalid.
    """

    values_are_choices = True

    def __init__(
        self,
        choices: Iterable[object],
        *,
        descriptors: object = None,
        distances: object = None,
        kernel: object = None,
        when: When | None = None,
        default: object = NO_DEFAULT,
    ) -> None:
        values = check_choices("Categorical", choices, most=MAX_NAMES, least=1)
        self._set_likeness(None if len(values) == 1 else read_likeness(values, descriptors, distances, kernel))
        if self.likeness is None and len(values) > MAX_CHOICES:
            warnings.warn(
                f"Categorical: {len(values):,} choices without descriptors, so that a model predicts the same for all "
                "choices that were not tried; pass descriptors=, or the rows of a table as Candidates; for molecules "
                "use Candidates.from_smiles",
                stacklevel=count_own_frames(),
            )
        super().__init__(values, CompleteGraph(len(values)), when, default)

    def _set_likeness(self, likeness: Likeness | None) -> None:
        self.likeness = likeness
        self.degrees = count_degrees(likeness)

    @property
    def arguments(self) -> str:
        """The shortened values, as arguments of a call, and their descriptors, distances or kernel."""
        return super().arguments + show_likeness(self.likeness)

    def describe(self) -> dict[str, Json]:
        """Return the choices as JSON, and their descriptors, distances or kernel."""
        return super().describe() | likeness_to_json(self.likeness)

    @classmethod
    def from_json(cls, data: ParsedJson) -> Categorical:
        found = cls.__new__(cls)
        values = tuple(choices_from_json(data["choices"]))
        found._set_likeness(likeness_from_json(data))
        ChoiceVariable.__init__(found, values, CompleteGraph(len(values)))
        return found


class Ordinal(ChoiceVariable):
    """A variable with ordered choices. Only adjacent choices are neighbors (path graph).

    Parameters
    ----------
    choices : iterable
        1 to 1000 distinct values, in order.
    weight : float, default 1.0
        Weight of the graph's edges, 1e-300 to 1e300, which scales diffusion along them.
    when : dict, optional
        Conditions under which a point has the variable, see `Space`. By default every point has it.
    default : object, optional
        The value of trials from before the variable was added to the space, see docs/space-changes.md.

    Raises
    ------
    DomainError, ValueError
        If an argument is invalid.
    """

    ordered = True
    values_are_choices = True

    def __init__(
        self, choices: Iterable[object], weight: float = 1.0, *, when: When | None = None, default: object = NO_DEFAULT
    ) -> None:
        values = check_choices("Ordinal", choices, least=1)
        self.weight = check_number("weight", weight, MIN_WEIGHT, MAX_WEIGHT)
        super().__init__(values, path_graph(len(values), self.weight), when, default)

    def describe(self) -> dict[str, Json]:
        """Return the choices, and the weight if it is not 1, as JSON."""
        return super().describe() | ({} if self.weight == 1.0 else {"weight": self.weight})

    @classmethod
    def from_json(cls, data: ParsedJson) -> Ordinal:
        return cls(choices_from_json(data["choices"]), data.get("weight", 1.0))


class Graph(ChoiceVariable):
    """A variable whose choices are the nodes of a graph. Nodes with an edge are neighbors.

    Parameters
    ----------
    graph : networkx.Graph
        A connected undirected graph of 2 to 1000 nodes without loops. Edges may have an attribute `weight` above 0.
    when : dict, optional
        Conditions under which a point has the variable, see `Space`. By default every point has it.
    default : object, optional
        The value of trials from before the variable was added to the space, see docs/space-changes.md.

    Raises
    ------
    DomainError
        If an argument is invalid.
    """

    graph: WeightedGraph  # pyright: ignore[reportIncompatibleVariableOverride]
    values_are_choices = True

    def __init__(self, graph: object, *, when: When | None = None, default: object = NO_DEFAULT) -> None:
        nodes, weighted = weighted_graph(graph)
        super().__init__(check_choices("Graph", nodes), weighted, when, default)

    def describe(self) -> dict[str, Json]:
        """Return the nodes and the weighted edges as JSON."""
        return super().describe() | {"edges": [list(edge) for edge in self.graph.edges]}

    @classmethod
    def from_json(cls, data: ParsedJson) -> Graph:
        """Rebuild the variable from the result of `describe`.

        Raises DomainError if the nodes are Python objects, which files do not store, and for an edge that is a loop or
        has no positive weight.
        """
        nodes, found = choices_from_json(data["choices"]), cls.__new__(cls)
        ChoiceVariable.__init__(found, tuple(nodes), weighted_graph_from_json(len(nodes), data["edges"]))
        return found


class Fidelity(ChoiceVariable):
    """The fidelity of an evaluation, such as epochs or a share of the data (path graph).

    Hyperband and successive halving raise it for promising points. All other methods treat it as an ordered variable.

    Parameters
    ----------
    costs : iterable of float
        The cost of an evaluation at each fidelity, above 0 and ascending, in any unit.
    when : object, optional
        Not supported, because all points have a fidelity; a TypeError is raised.
    default : object, optional
        The value of trials from before the variable was added to the space, see docs/space-changes.md.

    Raises
    ------
    DomainError, TypeError
        If an argument is invalid.
    """

    ordered = True
    has_sure_order = True
    values_are_choices = True

    def __init__(self, costs: Iterable[float], *, when: object = None, default: object = NO_DEFAULT) -> None:
        if when is not None:
            raise TypeError(
                "Fidelity: when: it takes no conditions, because all points have it; give when= to other variables, "
                f"got {short_repr(when)}"
            )
        values = check_choices("Fidelity", costs)
        numbers = [cost for cost in values if type(cost) in (int, float) and 0 < cost <= sys.float_info.max]
        if len(numbers) < len(values) or numbers != sorted(numbers):
            raise DomainError(f"Fidelity: expected positive numbers in ascending order, got {short_repr(list(values))}")
        self.costs = tuple(map(float, numbers))
        super().__init__(values, path_graph(len(values)), default=default)
