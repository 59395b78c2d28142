"""Sections about answers that are neither preferences nor ratings: choices, rankings, events and texts."""
