"""Training recipe of CMI-RM."""
