"""Acquisition functions, what a point is worth, and the maximizers that look for the best one."""
