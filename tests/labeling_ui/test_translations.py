"""Every text of the pages exists in Simplified Chinese, with the same blanks in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from babel.messages.catalog import Message
from babel.messages.extract import extract_javascript, extract_python
from babel.messages.pofile import read_po
from django.utils.translation import override
from django.utils.translation.template import templatize

from analytics.reports import reasons
from analytics.statistics.planning import sample_size, variance_components
from labeling_ui.domain_errors import ERROR_MESSAGE_PATTERNS, ERROR_MESSAGES
from labeling_ui.models.training_page import CURVES, STAGES, TEST_METRICS
from labeling_ui.sentences import ALL, pattern_regex, translated_sentence
from scoring.metrics.registry import ENTRIES
from scoring.training.catalogue import TRAINABLE
from scoring.writing.kinds import KINDS

ROOT = Path(__file__).resolve().parents[2]
MESSAGES = ROOT / "labeling_ui" / "locale" / "zh_Hans" / "LC_MESSAGES"
KEYWORDS = {
    name: spec
    for names, spec in (
        (("_", "gettext", "gettext_lazy", "gettext_noop", "N_"), None),
        (("ngettext", "ngettext_lazy"), (1, 2)),
        (("pgettext", "pgettext_lazy"), ((1, "c"), 2)),
    )
    for name in names
}
BLANK = re.compile(r"%\(\w+\)[sd]|%[sd]|\{\w*\}")


def read_catalogue(name: str) -> dict[str, Message]:
    with (MESSAGES / name).open("rb") as file:
        return {_key(message.id): message for message in read_po(file, locale="zh_Hans") if message.id}


@pytest.fixture(scope="module")
def catalogue() -> dict[str, Message]:
    return read_catalogue("django.po")


def texts_in_scripts() -> Iterator[str]:
    for path in sorted((ROOT / "static" / "js").rglob("*.js")):
        source = BytesIO(path.read_bytes())
        options = {"parse_template_string": True}
        for _line, _function, message, _ in extract_javascript(source, {"translate": None}, [], options):
            yield message if isinstance(message, str) else message[0]


def texts_in(source: bytes) -> Iterator[str]:
    for _line, _function, message, _comments in extract_python(BytesIO(source), KEYWORDS, [], {}):
        parts = message if isinstance(message, tuple) else (message,)
        yield next(part for part in parts if part)


def sources() -> Iterator[tuple[Path, bytes]]:
    for folder in ("annotation", "scoring", "analytics", "labeling_ui"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path, path.read_bytes()
    for app in ("labeling_ui", "analytics"):
        for path in sorted((ROOT / app / "templates").rglob("*.html")):
            yield path, templatize(path.read_text(encoding="utf-8")).encode()


def test_every_text_in_the_code_is_in_the_catalogue(catalogue):
    missing = {
        f"{path.relative_to(ROOT)}: {text}"
        for path, source in sources()
        for text in texts_in(source)
        if text not in catalogue
    }
    assert sorted(missing) == []


def test_the_catalogue_of_the_scripts_holds_their_texts_and_no_others():
    assert set(texts_in_scripts()) == set(read_catalogue("djangojs.po"))


@pytest.mark.parametrize("name", ["django.po", "djangojs.po"])
def test_no_text_is_left_untranslated_or_guessed(name):
    messages = read_catalogue(name).items()
    assert [key for key, message in messages if message.fuzzy or not all(_strings(message))] == []


@pytest.mark.parametrize("name", ["django.po", "djangojs.po"])
def test_translations_keep_the_blanks_of_the_original(name):
    different = [
        key
        for key, message in read_catalogue(name).items()
        for string in _strings(message)
        if sorted(set(BLANK.findall(string))) != sorted(set(BLANK.findall(_fullest(message))))
    ]
    assert different == []


def test_what_the_services_say_is_listed_as_they_say_it():
    folders = [ROOT / "annotation", ROOT / "scoring", ROOT / "analytics"]
    services = "".join(
        path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py")
    )
    services = re.sub(r'"\s*\n\s*f?"', "", services).replace("\\'", "'")
    assert [sentence for sentence in ERROR_MESSAGES if sentence not in services] == []
    unsaid = [
        each
        for each in (*ERROR_MESSAGE_PATTERNS, *ALL)
        if not re.search(pattern_regex(each, r"\\{[^}]+\\}"), services)
    ]
    assert unsaid == []


@pytest.mark.parametrize(
    ("sentence", "translation"),
    [
        ("“much” is no number. Write one such as 0.5.", "“much”不是数字。请写成例如 0.5 的形式。"),
        ("a b.pdf is a PDF document.", "a b.pdf 是PDF 文档。"),
        ("only S1 has a clip of rain", "只有 S1 有 rain 的音频"),
        ("take: 1.wav: This file has 0 bytes.", "take: 1.wav：此文件为 0 字节。"),
        ("Mend the address. Or put the file beside the source.", "请修正地址。或把文件放在来源旁边。"),
        ("holds a list", "含有列表"),
        (
            'Map it to a field (--map "mood=FIELD") or leave it out (--map "mood=").',
            '请把它对应到一个字段（--map "mood=FIELD"），或略去（--map "mood="）。',
        ),
        ("'b' in the archive is a link, not a file.", "压缩包中的 'b' 是链接，不是文件。"),
        ("what nobody has listed", "what nobody has listed"),
        ("", ""),
    ],
)
def test_problems_are_translated_with_their_values(sentence, translation):
    with override("zh-hans"):
        assert translated_sentence(sentence) == translation


def declared_texts() -> Iterator[str]:
    """What catalogues declare that know no languages: pages translate it where they show it."""
    for sentences in (*reasons.FAMILIES, sample_size.SENTENCES, variance_components.SENTENCES):
        yield from sentences.values()
    yield from (*TEST_METRICS, *CURVES, *STAGES)
    for entry in (*ENTRIES, *KINDS.values(), *TRAINABLE.values()):
        yield from (entry.title, entry.summary, *(option.help for option in entry.options))


def test_what_catalogues_declare_is_translated(catalogue):
    assert sorted({text for text in declared_texts() if text not in catalogue}) == []


def _key(message_id: str | tuple[str, ...] | list[str]) -> str:
    return message_id if isinstance(message_id, str) else message_id[0]


def _strings(message: Message) -> tuple[str, ...]:
    return (message.string,) if isinstance(message.string, str) else tuple(message.string)


def _fullest(message: Message) -> str:
    """The plural form of a message that has one: only there is the number always written out."""
    return message.id if isinstance(message.id, str) else message.id[-1]
