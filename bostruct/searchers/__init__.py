"""Searchers: one file a method, each suggesting the next point from a history."""
