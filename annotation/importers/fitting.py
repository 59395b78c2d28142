"""Which protocol asks about what a table holds: a first guess for somebody who has not chosen one."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def preset_for(fields: Collection[str], *, items: Sequence[str] = ()) -> str:
    """The preset that fits these fields of a plain table best: by how many candidates a row has and of what kind.

    `items`: the first rows' items, for tables of a sound per row. One that comes twice has been made by two systems.
    """
    if "audio_b" in fields or ("audio" in fields and len(set(items)) < len(items)):
        return "cmi-pref"
    if "answer_c" in fields:
        return "aqeval"
    if "answer_b" in fields:
        return "fense"
    if "answer" in fields or "question_text" in fields:
        return "orca"
    return "pam" if "prompt" in fields else "aes"
