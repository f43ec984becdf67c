"""The laws of parts that a user may replace; each raises AssertionError, naming the law that is broken."""

from bostruct.testing.pool_laws import check_pool
from bostruct.testing.storage_laws import check_storage

__all__ = ["check_pool", "check_storage"]
