"""Reports: a study's votes and statistics as documents. `study_report` lists the sections, `render` writes files."""
