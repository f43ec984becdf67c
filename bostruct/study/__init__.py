"""Studies: ask, tell, and what is never lost."""
