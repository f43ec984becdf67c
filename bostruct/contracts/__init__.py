"""The contracts between the parts of a Bayesian optimizer over structures.

A domain defines the points, a kernel compares two points, a surrogate learns from the data, an acquisition function
rates the evaluation of a point, a maximizer finds the best point, a searcher combines these parts, and a study
(`bostruct.study.study`) has points evaluated and loses no result.

Letters used everywhere: ``n`` training points, ``m`` candidates, ``d`` variables, ``p`` kernel parameters, ``s``
posterior samples of the parameters. Numbers are float64. ``x`` is one point of a batch, in the domain's own form;
`Domain.present` converts it to the user's form. Values are minimized everywhere except in the study.

Functions take batches of points. A batch has a length, is indexed by an integer (a point) or a slice (a batch), and can
be iterated over; its domain does everything else (`take`, `join`, `keys`). Batches and points are never changed: a
method that needs another point creates one. Callers may change the results of `present` and `encode`. On a `Space` a
batch is an integer array (m, d), or a batch of single changes (`bostruct.domains.space.single_changes`) from
`sample_neighborhoods`, which NumPy converts to such an array. On all other domains of this package a batch is a list or
a tuple. A list of points is also a batch of every domain. `bostruct.testing.check_domain` checks this.

Each part is a subclass of its base. Methods that every part must have are abstract; the others have a right but slow
default, which a part overrides. `Domain.traits` lists the optional abilities of a domain.
"""

from typing import TYPE_CHECKING

from bostruct.contracts.domain import DRAW_BLOCKS as DRAW_BLOCKS
from bostruct.contracts.domain import DRAWS_UNSEEN as DRAWS_UNSEEN
from bostruct.contracts.domain import Choice as Choice
from bostruct.contracts.domain import ChoiceDomain as ChoiceDomain
from bostruct.contracts.domain import DistanceDomain as DistanceDomain
from bostruct.contracts.domain import Domain as Domain
from bostruct.contracts.domain import DomainTraits as DomainTraits
from bostruct.contracts.domain import FeatureDomain as FeatureDomain
from bostruct.contracts.domain import LocalDomain as LocalDomain
from bostruct.contracts.domain import Polytope as Polytope
from bostruct.contracts.domain import TreeDomain as TreeDomain
from bostruct.contracts.domain import draw_unseen as draw_unseen
from bostruct.contracts.domain import token as token
from bostruct.contracts.errors import BostructError as BostructError
from bostruct.contracts.errors import DomainError as DomainError
from bostruct.contracts.errors import Infeasible as Infeasible
from bostruct.contracts.errors import MissingExtra as MissingExtra
from bostruct.contracts.errors import NotWanted as NotWanted
from bostruct.contracts.errors import NumericalError as NumericalError
from bostruct.contracts.errors import PointError as PointError
from bostruct.contracts.errors import PredicateError as PredicateError
from bostruct.contracts.errors import SpaceExhausted as SpaceExhausted
from bostruct.contracts.errors import Transient as Transient
from bostruct.contracts.errors import WrongPart as WrongPart
from bostruct.contracts.kernel import SINGLE_FLOOR as SINGLE_FLOOR
from bostruct.contracts.kernel import SINGLE_ROUNDING as SINGLE_ROUNDING
from bostruct.contracts.kernel import BlockGram as BlockGram
from bostruct.contracts.kernel import Kernel as Kernel
from bostruct.contracts.kernel import Parameter as Parameter
from bostruct.contracts.kernel import Prior as Prior
from bostruct.contracts.kernel import Pullback as Pullback
from bostruct.contracts.kernel import SingleGram as SingleGram
from bostruct.contracts.model import AcquisitionFunction as AcquisitionFunction
from bostruct.contracts.model import AcquisitionGradient as AcquisitionGradient
from bostruct.contracts.model import Feasibility as Feasibility
from bostruct.contracts.model import HeldOut as HeldOut
from bostruct.contracts.model import HyperparameterSamples as HyperparameterSamples
from bostruct.contracts.model import Maximizer as Maximizer
from bostruct.contracts.model import Posterior as Posterior
from bostruct.contracts.model import Prediction as Prediction
from bostruct.contracts.model import Regression as Regression
from bostruct.contracts.model import Score as Score
from bostruct.contracts.model import SuccessModel as SuccessModel
from bostruct.contracts.model import Surrogate as Surrogate
from bostruct.contracts.model import Term as Term
from bostruct.contracts.model import VariedPrediction as VariedPrediction
from bostruct.contracts.model import VariedValues as VariedValues
from bostruct.contracts.search import BRANCH_REASON as BRANCH_REASON
from bostruct.contracts.search import PARENT_POSITION as PARENT_POSITION
from bostruct.contracts.search import HistoryView as HistoryView
from bostruct.contracts.search import LeaveOneOut as LeaveOneOut
from bostruct.contracts.search import Predicted as Predicted
from bostruct.contracts.search import ScoreBuilder as ScoreBuilder
from bostruct.contracts.search import Searcher as Searcher
from bostruct.contracts.search import Suggestion as Suggestion
from bostruct.contracts.search import TrainingPrediction as TrainingPrediction
from bostruct.contracts.search import describe_part as describe_part
from bostruct.contracts.types import ADDED_LATER as ADDED_LATER
from bostruct.contracts.types import INFINITE as INFINITE
from bostruct.contracts.types import Array as Array
from bostruct.contracts.types import AtLeast as AtLeast
from bostruct.contracts.types import Batch as Batch
from bostruct.contracts.types import Count as Count
from bostruct.contracts.types import Exact as Exact
from bostruct.contracts.types import Infinite as Infinite
from bostruct.contracts.types import Info as Info
from bostruct.contracts.types import IntArray as IntArray
from bostruct.contracts.types import Json as Json
from bostruct.contracts.types import ParsedJson as ParsedJson
from bostruct.contracts.types import Point as Point
from bostruct.contracts.types import Prepared as Prepared
from bostruct.contracts.types import Presented as Presented
from bostruct.contracts.types import State as State
from bostruct.contracts.types import stored_as as stored_as
from bostruct.public_names import attach

if not TYPE_CHECKING:
    _NO_CONTRACTS = {"TYPE_CHECKING", "attach", "domain", "errors", "kernel", "model", "search", "types"}
    __all__ = sorted(name for name in globals() if name[0] != "_" and name not in _NO_CONTRACTS)
    __getattr__ = attach(__name__, {})[0]  # for an old name, the error names the new one
