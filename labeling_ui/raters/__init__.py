"""Raters of a study: rules about the quality of their work, what was done, and the quality of each one."""
