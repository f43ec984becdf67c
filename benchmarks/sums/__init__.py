"""Compare `auto` on sums, mixtures and linear constraints with BoTorch and with hand-written spaces."""
