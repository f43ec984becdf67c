"""Acquisition functions, what a point is worth, and the maximisers that look for the best one."""
