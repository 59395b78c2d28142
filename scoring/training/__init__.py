"""Training recipes of judges and reward models. Pure torch and numpy: no web framework, no database, no queue."""
