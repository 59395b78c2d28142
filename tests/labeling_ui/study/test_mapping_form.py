"""What the mapping page makes of the choices on it."""

from __future__ import annotations

from annotation.importing.formats.detection import TablePreview
from annotation.protocols import preset
from labeling_ui.study.import_forms import STRATUM_COLUMN, MappingForm


def test_strata_named_after_columns_are_never_one():
    names = ("item_id", "!!", "Genre (a)", "??", "stratum.Genre_a", "Genre [a]")
    look = TablePreview(names, (), dict.fromkeys(names, "text"), {})
    chosen = {f"column-{place}": STRATUM_COLUMN for place in range(1, len(names))} | {"column-0": "item_id"}
    form = MappingForm(chosen, look=look, protocol=preset("orca"))
    assert form.is_valid(), form.errors
    assert form.column_map() == {
        "!!": "stratum.other",
        "Genre (a)": "stratum.Genre_a_2",
        "??": "stratum.other_2",
        "Genre [a]": "stratum.Genre_a_3",
    }
