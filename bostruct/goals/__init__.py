"""Goals: objectives and limits, as a user declares them and as searchers see them."""
