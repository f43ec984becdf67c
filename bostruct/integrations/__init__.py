"""Bridges to other libraries; only the bridges import these libraries."""
