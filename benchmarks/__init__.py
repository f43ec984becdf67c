"""Measurements that are not tests: speed, memory, and plain references. Not installed."""
