"""Simulated raters of known behaviour, who work on a copy of any study through its HTTP API."""
