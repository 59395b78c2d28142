"""Training recipe of ORCA."""
