"""The search-space language: programs whose structure is a choice, as a domain."""
