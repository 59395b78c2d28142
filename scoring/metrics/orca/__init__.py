"""ORCA: judge of text answers that predicts the distribution of people's ratings."""
