"""YAML that strangers wrote: a few lines of it, whose values share others, can stand for more than any memory holds."""

from __future__ import annotations

from typing import Any

import yaml

# More than any configuration has. What is merged into a mapping is copied, and copies of copies grow without end.
MOST_MERGED = 10_000
MERGE = "tag:yaml.org,2002:merge"


class _Loader(yaml.SafeLoader):
    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        merged = [value for key, value in node.value if key.tag == MERGE]
        sources = [each for value in merged for each in _mappings(value)]
        for source in sources:
            self.flatten_mapping(source)
        if sum(len(source.value) for source in sources) > MOST_MERGED:
            raise yaml.constructor.ConstructorError(None, None, "merges too much", node.start_mark)
        super().flatten_mapping(node)


def _mappings(node: yaml.Node) -> list[yaml.MappingNode]:
    """What `<<` names: a mapping or a list of them."""
    found = node.value if isinstance(node, yaml.SequenceNode) else [node]
    return [each for each in found if isinstance(each, yaml.MappingNode)]


def load(written: str) -> Any:
    """Raises yaml.YAMLError, ValueError or RecursionError for what cannot be read."""
    return yaml.load(written, Loader=_Loader)  # which is a SafeLoader


def text(value: Any) -> str:
    """A text, or a number as one. Nothing else is spelled out: a list may hold the same list again and again."""
    if isinstance(value, int | float):
        return str(value) if abs(value) < 2**63 else ""
    return value if isinstance(value, str) else ""
