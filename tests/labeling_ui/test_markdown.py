from __future__ import annotations

import pytest

from annotation.protocols import preset, preset_keys
from labeling_ui.markdown import to_html


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("One\nline.\n\nAnother.", "<p>One line.</p>\n<p>Another.</p>"),
        (
            "**Bold** and *soft* and `@0:20`",
            "<p><strong>Bold</strong> and <em>soft</em> and <code>@0:20</code></p>",
        ),
        ("1. one\n2. two\n   goes on", "<ol><li>one</li><li>two goes on</li></ol>"),
        ("- one\n- two", "<ul><li>one</li><li>two</li></ul>"),
        ("## About\nText", "<h2>About</h2>\n<p>Text</p>"),
        (
            "Write to [**us**](mailto:us@lab.example), see [*it*](https://lab.example/a*b?c=1&d=2)*!*",
            '<p>Write to <a href="mailto:us@lab.example" rel="noreferrer"><strong>us</strong></a>, see '
            '<a href="https://lab.example/a*b?c=1&amp;d=2" rel="noreferrer"><em>it</em></a><em>!</em></p>',
        ),
        ("`[a](https://b.example)`", "<p><code>[a](https://b.example)</code></p>"),
        ("2 * 3 * 4 is 24", "<p>2 * 3 * 4 is 24</p>"),
        ("`**` means bold", "<p><code>**</code> means bold</p>"),
        ("", ""),
    ],
)
def test_it_renders_what_guidelines_are_written_in(text, html):
    assert to_html(text) == html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "**<img src=x onerror=alert(1)>**",
        "`<b>`",
        '" onclick="x',
        "1. <a href='x'>",
        "[a](javascript:alert(1))",
        "[a](//b.example)",
    ],
)
def test_no_text_brings_an_element_or_an_attribute_of_its_own(text):
    html = to_html(text)
    for tag in ("p", "strong", "code", "ol", "li"):
        html = html.replace(f"<{tag}>", "").replace(f"</{tag}>", "")
    assert not set(html) & {"<", ">", '"', "'"}


def test_an_address_cannot_leave_its_attribute():
    assert to_html('[a](https://b.example/"onclick="x)') == (
        '<p><a href="https://b.example/&quot;onclick=&quot;x" rel="noreferrer">a</a></p>'
    )


@pytest.mark.parametrize("key", preset_keys())
def test_the_guidelines_of_every_preset_come_out_without_loose_marks(key):
    for text in preset(key).guidelines.by_language.values():
        assert "**" not in to_html(text)
