"""Bridges to other libraries, each behind an extra."""
