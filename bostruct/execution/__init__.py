"""Evaluation of objectives: in this process, in worker processes, on executors."""
