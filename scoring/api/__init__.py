"""Scoring over HTTP."""
