"""Policies: what models change in a study (prescoring, prompts, task priorities, hints, conflict flags)."""
