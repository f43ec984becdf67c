"""Mutants that change nothing anybody could observe, by `Mutant.key`, each with the reason."""

EQUIVALENT: dict[str, str] = {}
