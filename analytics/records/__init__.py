"""A study as plain records for export: read in batches, so memory stays flat however large the study.

Records come in a fixed order and hold nothing that depends on when they are read: equal data give equal exports.
They name a rater by pseudonym and never by account.
"""
