"""The report of a study, as a paper would print it: one module per section."""
