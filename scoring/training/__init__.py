"""Judges that learn from votes. Pure torch and numpy: no web framework, no database, no queue."""
