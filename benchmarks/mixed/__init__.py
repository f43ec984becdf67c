"""Numbers, categories and conditions together: `auto` beside its peers."""
