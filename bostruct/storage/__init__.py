"""Studies on disk."""
