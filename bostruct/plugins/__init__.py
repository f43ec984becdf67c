"""Parts that other packages bring, by name."""
