"""Speed and memory, each script one table: what is required, and what was measured."""
