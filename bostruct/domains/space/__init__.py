"""Spaces of variables over graphs."""
