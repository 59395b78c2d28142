"""Templates, scripts and styles fit together: nothing names what is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from labeling_ui import javascript_texts

ROOT = Path(__file__).resolve().parents[2]
STATIC = ROOT / "static"
MODULES = sorted((STATIC / "js").glob("*.js"))
TEMPLATES = sorted((ROOT / "labeling_ui" / "templates").rglob("*.html"))


def found(pattern: str, paths: list[Path]) -> set[str]:
    return {match for path in paths for match in re.findall(pattern, path.read_text(encoding="utf-8"))}


def every_text() -> dict[str, str]:
    desk = javascript_texts.review_desk_texts() | javascript_texts.blind_review_texts()
    return (
        javascript_texts.workbench_texts()
        | javascript_texts.keyboard_shortcut_texts()
        | javascript_texts.listening_check_texts()
        | desk
    )


def test_every_static_file_that_a_template_names_exists():
    names = found(r"{% static ['\"]([^'\"]+)['\"]", TEMPLATES)
    served_from_packages = {name for name in names if name.startswith("vendor/")}
    assert {name for name in names - served_from_packages if not (STATIC / name).is_file()} == set()


def test_every_module_that_a_page_starts_exists():
    names = found(r'data-module="(\w+)"', TEMPLATES)
    assert "workbench" in names
    assert {name for name in names if not (STATIC / "js" / f"{name}.js").is_file()} == set()


def test_every_import_leads_to_a_module():
    assert {
        name for name in found(r'from "\./([^"]+)"', MODULES) if not (STATIC / "js" / name).is_file()
    } == set()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_stays_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) < 200


def test_colours_have_their_home_in_the_variables():
    others = [path for path in (STATIC / "css").glob("*.css") if path.name != "variables.css"]
    assert found(r"#[0-9a-fA-F]{3,8}\b", others) == set()


def test_the_pages_have_every_text_their_scripts_ask_for():
    texts = every_text()
    asked = found(r'\bt\(\s*"([\w.]+)"', MODULES) | found(r'message: "([\w.]+)"', MODULES)
    assert "missing.choice" in asked
    assert asked - set(texts) == set()


def test_the_pages_have_no_text_that_nothing_asks_for():
    literal = found(r'"([a-z]+\.[a-z_]+)"', MODULES)
    built = found(r"`([a-z]+)\.\$\{", MODULES)
    texts = every_text()
    unused = {key for key in texts if key not in literal and key.split(".")[0] not in built}
    assert unused == set()
