"""Domains, which define the points of a search space."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bostruct.public_names import attach

if TYPE_CHECKING:
    from bostruct.domains.architecture.layers import CELL as CELL
    from bostruct.domains.architecture.layers import CNN as CNN
    from bostruct.domains.architecture.layers import CNN_ALL_KERNELS as CNN_ALL_KERNELS
    from bostruct.domains.architecture.layers import MBCONV as MBCONV
    from bostruct.domains.architecture.layers import MLP as MLP
    from bostruct.domains.architecture.layers import Family as Family
    from bostruct.domains.architecture.layers import Label as Label
    from bostruct.domains.space.choice_json import choices_from_json as choices_from_json
    from bostruct.domains.space.choices import ChoiceVariable as ChoiceVariable
    from bostruct.domains.space.choices import check_choices as check_choices
    from bostruct.domains.space.clauses import AllOf as AllOf
    from bostruct.domains.space.clauses import AnyOf as AnyOf
    from bostruct.domains.space.clauses import Compare as Compare
    from bostruct.domains.space.clauses import CompareVariables as CompareVariables
    from bostruct.domains.space.clauses import IsIn as IsIn
    from bostruct.domains.space.clauses import Not as Not
    from bostruct.domains.space.clauses import ValueOf as ValueOf
    from bostruct.domains.space.graphs import VariableGraph as VariableGraph
    from bostruct.domains.space.graphs import WeightedGraph as WeightedGraph
    from bostruct.domains.space.scale import NumberGrid as NumberGrid
    from bostruct.domains.space.variable import Variable as Variable
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "bostruct.domains.architecture.layers": "CELL CNN CNN_ALL_KERNELS Family Label MBCONV MLP",
            "bostruct.domains.space.choice_json": "choices_from_json",
            "bostruct.domains.space.choices": "ChoiceVariable check_choices",
            "bostruct.domains.space.clauses": "AllOf AnyOf Compare CompareVariables IsIn Not ValueOf",
            "bostruct.domains.space.graphs": "VariableGraph WeightedGraph",
            "bostruct.domains.space.scale": "NumberGrid",
            "bostruct.domains.space.variable": "Variable",
        },
    )
