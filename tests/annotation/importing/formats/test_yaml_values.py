"""YAML of strangers: what is shared or merged again and again takes no memory."""

from __future__ import annotations

import math

import pytest
import yaml

from annotation.importing.formats import source_files


def test_merges_that_copy_each_other_without_end_are_refused():
    levels = [f"m{n}: &m{n}\n  <<: [{f'*m{n - 1},' * 9}]\n" for n in range(1, 30)]
    with pytest.raises(yaml.YAMLError, match="merges too much"):
        source_files.load_yaml("m0: &m0 {x: 1}\n" + "".join(levels))


def test_a_merge_that_configurations_use_is_read():
    written = "base: &base {kind: radio}\nmine:\n  <<: *base\n  name: x\n"
    assert source_files.load_yaml(written)["mine"] == {"kind": "radio", "name": "x"}


def test_an_object_is_never_made():
    with pytest.raises(yaml.YAMLError):
        source_files.load_yaml("!!python/object/apply:os.system [true]")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("a", "a"),
        (7, "7"),
        (0.5, "0.5"),
        pytest.param(16**5000, "", id="larger than any"),
        (math.nan, ""),
        ([1], ""),
        ({"a": 1}, ""),
        (None, ""),
    ],
)
def test_only_texts_and_numbers_are_spelled_out(value, said):
    assert source_files.yaml_text(value) == said
