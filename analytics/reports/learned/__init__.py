"""What versions of models that learn from votes are worth, on votes that none of them has learned from."""
