"""Compare `auto` with local search, evolution and Optuna on orders, subsets, sequences and tables of candidates."""
