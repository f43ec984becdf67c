"""Plain implementations, with which the package is compared and checked."""
