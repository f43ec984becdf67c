"""The comparison of `auto` with its peers: problems, searches, runs and the page."""
