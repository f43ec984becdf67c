"""Domains, which say what a point is."""
