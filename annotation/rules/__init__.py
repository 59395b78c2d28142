"""Decisions over plain values. A pure island: no Django."""
