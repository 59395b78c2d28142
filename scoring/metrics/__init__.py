"""What gives a sound and a text their scores. A pure island: no Django, and no torch before a metric is opened."""
