"""Conformance checks for extensions: each function tests a custom part and raises AssertionError.

The message states the law that the part violates. No test framework is needed.
"""

from bostruct.testing.acquisition_laws import check_acquisition, check_maximizer, check_score_builder
from bostruct.testing.domain_laws import check_domain, check_enumeration
from bostruct.testing.gradient_laws import check_score_gradient
from bostruct.testing.kernel_laws import check_factor, check_kernel, check_prior
from bostruct.testing.model_laws import check_feasibility, check_posterior, check_surrogate
from bostruct.testing.pool_laws import check_pool
from bostruct.testing.searcher_laws import check_searcher
from bostruct.testing.storage_laws import check_storage
from bostruct.testing.variable_laws import check_variable

if not __debug__:
    raise ImportError("bostruct.testing: Python runs with -O, which skips assertions; run the laws without it")

__all__ = [
    "check_acquisition",
    "check_domain",
    "check_enumeration",
    "check_factor",
    "check_feasibility",
    "check_kernel",
    "check_maximizer",
    "check_pool",
    "check_posterior",
    "check_prior",
    "check_score_builder",
    "check_score_gradient",
    "check_searcher",
    "check_storage",
    "check_surrogate",
    "check_variable",
]
