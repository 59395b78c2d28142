"""What a metric of answers reads of an example: the answer and the reference answer."""

from __future__ import annotations

from scoring.metrics.contract import Example, ExampleError


def answer_and_reference(example: Example) -> tuple[str, str]:
    """Both without blanks around them; the answer may be empty, as people rate that too. Raises ExampleError `no_text`
    and `no_reference`."""
    if len(example.texts) != 1:
        raise ExampleError("no_text", "There is no answer to rate. Give the candidate a text.")
    reference = example.fields.get("reference", "").strip()
    if not reference:
        raise ExampleError(
            "no_reference", "The item has no reference answer to compare with. Add it, or use another scorer."
        )
    return example.texts[0].strip(), reference
