"""`auto` on sums, mixtures and linear constraints, beside BoTorch with the same constraints and what users write."""
