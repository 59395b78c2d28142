"""Training sets: files to train a model with elsewhere. A module per format, and a line in `formats.FORMATS`.

Builders are plain functions: judged tasks in, rows out. What reads the database is `analytics.services.training_sets`.
"""
