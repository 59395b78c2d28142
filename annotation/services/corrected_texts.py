"""Which texts of items are an expert's: made by a correction that stands, or by somebody later who kept it."""

from __future__ import annotations

from django.db.models import Exists, OuterRef

from annotation.models import Correction


def holds_correction(version: str = "") -> Exists:
    """Whether an item's version holds a correction that was not undone. `version`: the way to it from what is asked,
    such as `item_version__` from a task."""
    standing = Correction.objects.filter(version_after__retracted=False)
    return Exists(
        standing.filter(
            version_after__item=OuterRef(f"{version}item"),
            version_after__number__lte=OuterRef(f"{version}number"),
        )
    )
