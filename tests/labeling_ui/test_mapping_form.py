"""What the mapping page makes of the choices on it."""

from __future__ import annotations

from annotation.importers.peek import Peek
from annotation.protocols import preset
from labeling_ui.forms.uploads import STRATUM, MappingForm


def test_strata_named_after_columns_are_never_one():
    names = ("item_id", "!!", "Genre (a)", "??", "stratum.Genre_a", "Genre [a]")
    look = Peek(names, (), dict.fromkeys(names, "text"), {})
    chosen = {f"column-{place}": STRATUM for place in range(1, len(names))} | {"column-0": "item_id"}
    form = MappingForm(chosen, look=look, protocol=preset("orca"))
    assert form.is_valid(), form.errors
    assert form.column_map() == {
        "!!": "stratum.other",
        "Genre (a)": "stratum.Genre_a_2",
        "??": "stratum.other_2",
        "Genre [a]": "stratum.Genre_a_3",
    }
