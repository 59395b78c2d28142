"""Metrics: scores of sounds and texts. A pure island: no Django, and no torch before a metric is opened."""
