"""Sections of a study's report, one subject each; `_SECTIONS` in `reports.study_report` puts them in order."""
