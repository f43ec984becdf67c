"""Laws: what every domain, and every searcher, must satisfy, stated once and run by the tests of each."""

import pytest

pytest.register_assert_rewrite("laws.domain_laws", "laws.kernel_laws", "laws.searcher_laws")
