"""OTMANN: how far apart two architectures are, by optimal transport between their layers."""
