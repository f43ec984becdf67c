"""Figures of the form and the wording of the package, with their limits."""
