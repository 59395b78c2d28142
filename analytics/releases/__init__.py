"""Releases: immutable, hashed snapshots of a study that can be built again, byte for byte, from their manifest.

horizon.py       up to where a release looks, and how that line is drawn while others write
configs.py       the tables of a release: their columns, keys and statements
*_sql.py         the statements: the study as it was at a horizon
columns.py       cells as Arrow columns
json_lines.py    cells and rows as JSON
tables.py        a statement's rows on their way into Parquet and JSON Lines
folder.py        all files of a release
manifest.py, card.py, croissant.py    what a release says of itself
checking.py      whether a folder is what its manifest says
differences.py   what two releases do not share, and why
"""
