"""Domains: what a point is."""
