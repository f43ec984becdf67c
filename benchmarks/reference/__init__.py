"""Plain implementations that the package is measured against and checked with."""
