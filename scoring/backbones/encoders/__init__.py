"""Encoders of music (for CMI-RM) and of text answers (for ORCA)."""
