"""Words as models read them, and as leaks are looked for."""

from __future__ import annotations

import unicodedata

from analytics.training_sets.contract import Content


def asked(content: Content) -> str:
    """What was asked for, ending in an empty line; lyrics stand below the prompt."""
    parts = [content.question.strip() or content.prompt.strip()]
    if content.lyrics.strip():
        parts.append(f"Lyrics:\n{content.lyrics.strip()}")
    whole = "\n\n".join(part for part in parts if part)
    return f"{whole}\n\n" if whole else ""


def folded(text: str) -> str:
    """The same for texts that differ in case, punctuation, spaces or the spelling of letters in Unicode alone; where
    there is nothing but punctuation, the text as it is."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    letters = "".join(letter if letter.isalnum() else " " for letter in plain)
    return " ".join(letters.split()) or " ".join(plain.split())
