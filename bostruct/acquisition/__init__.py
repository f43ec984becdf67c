"""Acquisition functions, what evaluating a point promises, and the maximizers that look for the best one."""
