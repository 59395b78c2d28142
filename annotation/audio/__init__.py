"""Sound files in, comparable clips out: decode, measure and write canonical 48 kHz FLAC.

Needs PyAV and numpy only, so it works in a notebook; start at `ingest`.
"""
