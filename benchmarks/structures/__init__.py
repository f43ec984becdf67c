"""Orders, subsets, sequences and tables of candidates: `auto` beside local search, evolution and Optuna."""
