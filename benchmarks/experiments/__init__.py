"""Compare `auto` with other methods on noise, failures, limits, several objectives and batches; measure its cost."""
