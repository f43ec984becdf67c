"""Search spaces of the literature, as builders for `bostruct.language.SearchSpace`, with their published constants."""
