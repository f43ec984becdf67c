"""`auto` compared with its peers on numbers, categories and conditions together."""
