"""Neural architectures to be searched: ready modules, and spaces of the literature."""
