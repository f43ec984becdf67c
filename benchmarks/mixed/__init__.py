"""`auto` beside its peers on numbers, categories and conditions together."""
