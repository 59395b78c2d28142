"""The little Markdown that guidelines are written in, as HTML that is safe to show.

Paragraphs, `## headings`, numbered and bulleted lists, **bold**, *emphasis*, `code`, [links](https://…) to pages and to
addresses for e-mail (`mailto:`), and pictures and sounds that were uploaded for them, named as `attachment:NAME`.
Everything is escaped before anything is marked up, so no text can bring an element or an attribute of its own.
"""

from __future__ import annotations

import re
from html import escape

_BLOCK_BREAK = re.compile(r"\n\s*\n")
_ITEM = {"ol": re.compile(r"\d+[.)]\s+"), "ul": re.compile(r"[-*]\s+")}
_HEADING = re.compile(r"#{1,6}\s+")
_CODE = re.compile(r"`([^`]+)`")
# Of text that is escaped, so that an address holds no quotation mark. Other schemes (javascript:) make no link.
_LINK = re.compile(r"(?<!!)\[([^\]\n]{1,300})\]\(((?:https?://|mailto:)[^\s()]{1,2000})\)")
_MARKS = (
    (re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*"), r"<strong>\1</strong>"),
    (re.compile(r"\*(?=\S)(.+?)(?<=\S)\*"), r"<em>\1</em>"),
)


# Names as `annotation.studies.attachments` gives them.
_ATTACHMENT = re.compile(
    r"!\[([^\]\n]{0,300})\]\(attachment:([a-zA-Z0-9_-]{1,60}\.(?:png|jpg|gif|webp|wav|flac|ogg|mp3))\)"
)
_SOUNDS = (".wav", ".flac", ".ogg", ".mp3")


def to_html(text: str, *, attachments: str = "") -> str:
    """`attachments`: the address below which they lie; without, their descriptions stand in their place."""
    return _ATTACHMENT.sub(lambda match: _attachment(match, attachments), _to_html(text))


def _attachment(match: re.Match[str], address: str) -> str:
    """Both parts were escaped with the text around them."""
    description, name = match.groups()
    if not address:
        return description
    source = f"{escape(address)}{name}"
    if name.endswith(_SOUNDS):
        caption = f"<figcaption>{description}</figcaption>" if description else ""
        return f'<figure><audio controls preload="none" src="{source}"></audio>{caption}</figure>'
    plain = re.sub(r"<[^>]*>", "", description)
    return f'<img src="{source}" alt="{plain}" loading="lazy">'


def _to_html(text: str) -> str:
    blocks = (block.strip("\n") for block in _BLOCK_BREAK.split(text.replace("\r\n", "\n").strip()))
    return "\n".join(_block(block.split("\n")) for block in blocks if block)


def _block(lines: list[str]) -> str:
    for tag, mark in _ITEM.items():
        if mark.match(lines[0]):
            items = "".join(f"<li>{_inline(item)}</li>" for item in _list_items(lines, mark))
            return f"<{tag}>{items}</{tag}>"
    if heading := _HEADING.match(lines[0]):
        rest = f"\n{_block(lines[1:])}" if lines[1:] else ""
        return f"<h2>{_inline(lines[0][heading.end() :])}</h2>{rest}"
    return f"<p>{_inline(' '.join(line.strip() for line in lines))}</p>"


def _list_items(lines: list[str], mark: re.Pattern[str]) -> list[str]:
    """One text per list item; a line without the mark continues the item before it."""
    items: list[str] = []
    for line in lines:
        if match := mark.match(line):
            items.append(line[match.end() :])
        else:
            items[-1] += f" {line.strip()}"
    return items


def _inline(text: str) -> str:
    """Marks outside code only: `**` between backticks means itself."""
    parts = _CODE.split(escape(text))
    parts[::2] = [_linked(part) for part in parts[::2]]
    parts[1::2] = [f"<code>{part}</code>" for part in parts[1::2]]
    return "".join(parts)


def _linked(text: str) -> str:
    """Marks outside addresses only: a `*` in one belongs to it."""
    parts = _LINK.split(text)
    words = [_marked(part) for part in parts[::3]]
    links = [
        f'<a href="{address}" rel="noreferrer">{_marked(name)}</a>'
        for name, address in zip(parts[1::3], parts[2::3], strict=True)
    ]
    return "".join(part for pair in zip(words, [*links, ""], strict=True) for part in pair)


def _marked(text: str) -> str:
    for mark, html in _MARKS:
        text = mark.sub(html, text)
    return text
