"""What may be written about scorers: one noun a module."""
