"""Documentation references: every path, dotted name and link in the documents exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FOLDERS = "annotation|scoring|analytics|labeling_ui|config|concord_client|static|tests|benchmarks|docs"
PACKAGES = "annotation|scoring|analytics|labeling_ui|config|concord_client"


@cache
def _names(module: Path) -> set[str]:
    nodes = ast.walk(ast.parse(module.read_text()))
    return {
        getattr(node, "name", None) or getattr(node, "id", "")
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Name | ast.alias)
    }


def _exists(dotted: str) -> bool:
    path, rest = ROOT, dotted.split(".")
    while rest and (path / rest[0]).is_dir():
        path /= rest.pop(0)
    module = path / "__init__.py"
    if rest and (path / f"{rest[0]}.py").is_file():
        module = path / f"{rest.pop(0)}.py"
    return module.is_file() and set(rest) <= _names(module)


def _missing(text: str) -> list[str]:
    quoted = set(re.findall(r"`([^`\n]+)`", text))
    paths = {name for name in quoted if re.fullmatch(rf"(?:{FOLDERS})/[\w./-]*", name) and "NAME" not in name}
    dotted = {name for name in quoted if re.fullmatch(rf"(?:{PACKAGES})(?:\.\w+){{2,}}", name)}
    return sorted(
        [name for name in paths if not (ROOT / name).exists()]
        + [name for name in dotted if not _exists(name)]
    )


def _anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _broken_links(page: Path) -> list[str]:
    broken = []
    for link in re.findall(r"\]\((?!https?://)([^)\s]+)\)", page.read_text()):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in _anchors(target.read_text())):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", DOCS, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_name_and_link_exists(page: Path) -> None:
    assert _missing(page.read_text()) == []
    assert _broken_links(page) == []


def test_what_is_not_there_is_missed() -> None:
    """Negative control."""
    gone = ["annotation.rating.leases.no_such_function", "annotation/rating/no_such_module.py"]
    assert _missing(" ".join(f"`{name}`" for name in [*gone, "annotation.rating.leases.lease_next"])) == gone
