"""Writes: one noun per module, each function one transaction. Pages, API, tasks and commands share them."""
