"""Scoring runs: requests, rows, leases (claims), the worker, scores and faults."""
