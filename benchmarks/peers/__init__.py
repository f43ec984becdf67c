"""The comparison of `auto` with its peers on bits, categories, orders, tables and sequences."""
