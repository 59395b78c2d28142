"""Sentences of services in the reader's language.

Pure modules write the problems that they find in English, with values in them (`annotation.importing`,
`analytics.browse`); no language is known there. What stands here is matched with what they wrote, so that pages
translate it. A test compares each line with the code that writes it. Other sentences are shown as they are.
"""

from __future__ import annotations

import re
from functools import lru_cache

from django.utils.translation import gettext as look_up
from django.utils.translation import gettext_noop as _

# Blanks are values, and stay as they are; `phrase` is a phrase that is listed here as well.
# Of the tables of a study's data.
FILTERS = (
    _("There is no “%(value)s”; there are %(known)s."),
    _("This study has no “%(value)s”."),
    _("“%(text)s” is no number. Write one such as 0.5."),
    _("“%(text)s” is no number. Write one such as 3."),
    _("“%(text)s” is no day. Write one such as 2026-03-31."),
    _("Write yes or no."),
    _("Search for at most %(most)s characters."),
    _("Search for a word or a number; signs are not looked for."),
    _("Choose the scorer whose scores these are."),
    _("This study has no such scorer."),
    _("There is no question “%(key)s”; there are %(known)s."),
    _("There is no column “%(name)s”."),
    _("Sort by one of %(known)s, with a minus for the greatest first."),
    _("Choose one of %(known)s."),
    _("Say why, in 1 to 40 characters."),
    _("Write at most 2,000 characters."),
    _("Give a number of judgments from 1 to %(most)s."),
    _("The data cannot be shown so."),
    _("This cannot be done; nothing was changed."),
    _("There is no such page; begin with the first one."),
)
# Of panel links.
PANELS = (
    _("Participants have come by this link already, so this stays as it is. Make another link."),
    _("This panel link cannot be used."),
    _("A study has %(most)s panel links at the most."),
    _("A code or an address has no blanks and at most 500 characters."),
    _("Give an address that begins with https://."),
    _("%(name)s cannot be a URL parameter: use letters, digits, _ and -."),
    _("Name each parameter once."),
    _("Record 18 parameters at the most."),
    _("%(field)s = %(value)s has two quotas."),
)
# Of a file or folder that somebody brings.
FILES = (
    _("is empty"),
    _("is %(phrase)s"),
    _("is a web page"),
    _("is an XML file"),
    _("%(file)s is %(phrase)s"),
    _("%(file)s is no text"),
    _("%(file)s is in no format known here"),
    _("%(file)s is a list, but not of objects"),
    _("%(folder)s holds nothing that can be imported"),
    _("holds several tables: %(several)s"),
    _("Bring the one to import, and its sounds."),
    _(
        "Choose a table (CSV, TSV, Excel .xlsx, JSON, JSONL, Parquet), a .zip of a folder, or sounds in a folder."
    ),
    _("Save the table as .xlsx or CSV."),
    _("Make it a .zip."),
    _("Save the table itself, not the page that shows it."),
    _("Put it into a folder with others, one folder per system, or name it in a table."),
    _("Say which format it is in, or write it as CSV or JSONL."),
    _("a sound alone"),
    _("a picture (PNG)"),
    _("a picture (JPEG)"),
    _("a picture (GIF)"),
    _("a picture (BMP)"),
    _("a picture (TIFF)"),
    _("a PDF document"),
    _("a text document (RTF)"),
    _("an Excel workbook of before 2007 (.xls) or another old office file"),
    _("a 7-Zip archive"),
    _("a RAR archive"),
    _("a Word document"),
    _("a PowerPoint presentation"),
    _("an OpenDocument file"),
    _("No file came with this."),
    _("Choose a file or a folder."),
    _("There is nothing to import."),
    _("These files are not kept any more."),
    _("Bring them again."),
    _("The archive is empty."),
    _("Put the files in and make it again."),
    _("The archive holds more than %(most)s files."),
    _("Split it."),
    _("Split it, or import from the command line."),
    _("Two files in the archive have the same name: %(name)s"),
    _("Keep one of them."),
    _("%(name)s in the archive is protected by a password."),
    _("Make it without one."),
    _("%(name)s in the archive is an archive again."),
    _("Put its files in, not itself."),
    _("The archive cannot be unpacked: %(error)s"),
    _("Make it again, as a plain .zip."),
)
# Of the rows in it.
ROWS = (
    _("there is no header line"),
    _("Write a header line and a row per answer."),
    _("a column without a name"),
    _("stands in the header twice"),
    _("Give every column its own name."),
    _("has %(cells)s cells, the header has %(columns)s"),
    _("Quote cells that hold %(separator)s."),
    _("the header's cells are separated by %(separator)s"),
    _("is not UTF-8 (%(place)s)"),
    _("Save the file as UTF-8 and import it again."),
    _("is not a JSON object"),
    _("is protected by a password"),
    _("Save it without one."),
    _("holds a formula without its result"),
    _("Open it in Excel, save it, and import it again."),
    _("holds the error %(value)s"),
    _("Mend the formula."),
    _("the sheet %(sheet)s is empty"),
    _("Choose the sheet with the table."),
    _("is missing"),
    _("Write it."),
    _("Name the system of the clip in a column system; raters never see it."),
    _("Give every row the id of its prompt."),
    _("Name the clip's file, relative to the source."),
    _("only %(system)s has a clip of %(item)s"),
    _("%(item)s has no clip of the baseline %(baseline)s"),
    _("%(item)s has clips of %(n)s systems"),
    _("Add the clip that is missing, or remove the prompt's rows."),
    _("Bring %(least)s to %(most)s for each prompt."),
    _("%(system)s has a clip of %(item)s on row %(row)s already"),
    _("Keep one of the two, or say in a column take which clips belong together."),
    _("differs from row %(row)s, which is about the same prompt"),
    _("Make it the same on every row of the prompt, or give it another id."),
    _("No clip is of the baseline %(baseline)s. The systems are %(known)s."),
    _("%(text)s is no way to pair clips. Use all, baseline:NAME, or sample:N with N pairs per prompt."),
    _("%(name)s is not there"),
    _("Put the file at %(name)s beside the source, or mend the path."),
    _("%(name)s is not there, but %(other)s is"),
    _("Write the name as the file has it."),
    _("%(name)s is outside the source's folder"),
    _("Use a path below the source file."),
    _("wants more judgments, and there is no sound to give them on"),
    _(
        "Put the sounds beside the source; or import it as finished data: no more judgments wanted than it brings."
    ),
    _("%(value)s is not on the scale %(scale)s"),
    _("Mend the value."),
    _("%(value)s is not %(low)s to %(high)s"),
    _("Mend the confidence."),
    _("%(value)s is not a preference"),
    _("Use A, B, tie or both_bad."),
    _("%(text)s is not an option of %(question)s"),
    _("%(key)s is not asked here"),
    _("Use one of %(known)s."),
    _("%(code)s is not one of the codes %(known)s"),
    _("Mend the code."),
    _("Give every row the id of its item."),
    _("there are %(n)s candidates"),
    _("is one candidate too many"),
    _("is the same candidate as one before it"),
    _("Name every candidate of a row once."),
    _("is longer than %(most)s characters"),
    _("Shorten it, or split it into several."),
    _("Use a shorter one."),
    _("%(task)s is on row %(row)s as well"),
    _("Keep one of the two, or give one another id."),
    _("%(rater)s answered this on row %(row)s before"),
    _("Keep one answer per rater and task."),
    _("%(item)s was imported before with other content"),
    _("%(item)s was imported before with other candidates"),
    _("Corrections are made in the product, as a new version; import changed material under a new id."),
    _("%(file)s holds nothing to import"),
    _("Is it the right file, in the right format?"),
    _("there are no sounds"),
    _("Is it the right folder?"),
    _("there are %(phrase)s"),
    _("sounds in no system's folder"),
    _("%(n)s folders of sounds"),
    _("Make a folder for each of 2 to %(most)s systems, with the same file names in each."),
    _("Give what belongs together the same name in every system's folder."),
    _("has no %(item)s"),
    _("has no row in the table"),
    _("Add a row for it, or take it out."),
    _("differs from row %(row)s, which is about the same"),
    _("Give it another id, or make it the same on every row."),
    _("Keep one answer per rater, task and question."),
    _("holds the control character U+001F"),
    _("Remove it."),
    _("holds a character that no text can hold"),
    _("Remove zero bytes and half characters."),
    _("what %(rater)s said was imported before, and was something else"),
    _("is mapped but not there"),
    _("Is its name spelled as in the source?"),
    _("is not a column known here"),
    _('Map it to a field (--map "%(column)s=FIELD") or leave it out (--map "%(again)s=").'),
    _("is read as %(name)s, and so is %(other)s"),
    _('Leave one of them out (--map "%(column)s=").'),
    _("holds %(phrase)s"),
    _("a list"),
    _("an object"),
    _('Write a text or a number, or leave the column out (--map "%(column)s=").'),
    _("Write a number, or null where there is none."),
    _("is not asked for"),
    _("Leave the cell empty: %(key)s is asked once for the task."),
    _("%(letter)s is not a candidate of this row"),
    _("Use the letter of its columns: %(known)s."),
    _("has %(n)s options"),
    _("Give %(least)s to %(most)s options, separated by semicolons."),
    _("%(value)s is not a place"),
    _("Write the candidate's place, 1 to %(n)s, one row per candidate."),
    _("Write a JSON list of events: start, end, label, note."),
    _("is not asked with %(key)s"),
    _("Leave the cell empty."),
    _("%(value)s is no kind of check"),
    _("Use %(known)s, or nothing."),
    _("expects no answer"),
    _("Name it in a column such as expected.QUESTION."),
    _("Name what made the candidate; raters never see it."),
    _("answers a comparison, and the row names one clip"),
    _("Leave the column out, or give each comparison a row of its own with audio_a and audio_b."),
    _("a column of the header has no name"),
    _("Name every column, or clear what is empty."),
    _("Name the column, or clear the cell."),
    _("cannot be read as an Excel workbook (%(error)s)"),
    _("is damaged: %(error)s; nothing after it was read"),
    _("Save it again as .xlsx, or the table as CSV UTF-8."),
    _("is not CSV: %(error)s; nothing after it was read"),
    _("Is a quote left open? A cell has at most 131,072 characters."),
    _("Is a quote left open? Quote cells that hold quotes or line breaks, and double their quotes."),
    _("%(what)s is longer than %(most)s MB; nothing after it was read"),
    _("Is a line break missing, or a quote left open? Keep sounds in files of their own."),
    _("is not %(encoding)s (%(place)s)"),
    _("Name the encoding that it is in."),
    _("is UTF-16 text, not UTF-8"),
    _("is packed with gzip"),
    _("Unpack it first."),
    _("%(name)s is no address of a file"),
    _("Write https://host/path or s3://bucket/key, no blanks, %(most)s characters at most."),
    _("%(name)s cannot be a file here"),
    _("holds a zero byte"),
    _("Mend the path."),
    _("is a link to somewhere else"),
    _("Put the files themselves there."),
    _("is called as %(other)s is"),
    _("Keep one of them, or give them different names."),
    _("%(item)s is no sound's name"),
    _("Write the name of the item's files, without their ending."),
    _("%(item)s has texts already"),
    _("Keep one of the two."),
    _("is longer than 1 MB"),
    _("Shorten the prompt."),
    _("is not UTF-8"),
    _("Name the row's sound, relative to the table."),
    _("is there twice"),
    _("is not an object"),
    _("holds no JSON"),
    _("something follows its end"),
    _("it breaks off"),
    _("Export the file again; it may have been cut off on its way."),
    _("Write one JSON object per line."),
    _("is not a whole Parquet file (%(error)s)"),
    _("Write or copy the file again; it may have been cut off on its way."),
    _("%(name)s is not an encoding here; use one of %(known)s."),
    _("%(name)s is not a separator here; use one of %(known)s."),
)
# Of sounds, wherever they come from.
SOUNDS = (
    _("%(file)s: %(phrase)s"),
    _("This file is not audio in a known format, or its start is damaged."),
    _("This file is damaged: decoding broke at %(at)s s."),
    _("This file is cut off: it ends at %(end)s s, but its header promises %(stated)s s."),
    _("Export it again as WAV or FLAC."),
    _("Copy or export the file again, and check that it plays to its end."),
    _("There is no file at %(path)s."),
    _("Check the path, or upload it."),
    _("%(path)s is a folder, not a file."),
    _("Name the file inside it."),
    _("%(path)s may not be read."),
    _("Give the server read permission."),
    _("This file has 0 bytes."),
    _("Export or upload it again."),
    _("This file has no audio track."),
    _("Export it with its sound, or choose the right file."),
    _("This file holds samples that are not numbers (NaN or infinite) near %(at)s s."),
    _("Generate the output again, or leave it out."),
    _("This file's channel layout (%(layout)s) has no known way down to stereo."),
    _("Mix it down to stereo and export it again."),
    _("The sample rate or channels change at %(at)s s in this file."),
    _("This file holds %(length)s; a clip needs at least %(least)s."),
    _("Check that the export finished, and replace the file."),
    _("This file holds %(length)s of audio; the limit is %(most)s."),
    _("Cut it to the part that is to be judged."),
    _("is the same sound as %(other)s"),
    _("Leave it out: what is hidden here is added by itself."),
    _("the clips differ in channels: %(first)s has %(n)s and %(other)s %(m)s"),
    _("Make all of them mono or all of them stereo: it alone would tell which is which."),
    _("Cut or pad them all to one length, to the sample: it alone would tell which is which."),
    _("It is a web page, not a sound file."),
    _("Use the address of the file itself, not of the page that offers it."),
    _("It is larger than %(most)s MB."),
    _("There is no such file (the server answers %(status)s)."),
    _("The server does not give it out (it answers %(status)s)."),
    _("The server answers %(status)s."),
    _("Or put the file beside the source."),
    _("Mend the address. %(phrase)s"),
    _("Try again later. %(phrase)s"),
    _("Make it readable without signing in, or use a signed address. %(phrase)s"),
)
# Of what comes before the rating.
ONBOARDING = (
    _("You have withdrawn from this study."),
    _("Your work in this study is paused; ask the researcher who invited you."),
    _("The text has changed since you opened this page. Read the new version, then decide."),
    _("This study has no consent text."),
    _("There is no training to do: you may rate."),
    _("This study has no training. Set it up under “Before rating” first."),
    _("This is no training task any more."),
    _("Read what this study asks of you, and decide whether you take part."),
    _("You declined to take part, so this study has no tasks for you."),
    _("Answer a few questions about yourself first."),
    _("Read the guidelines first."),
    _("Take the listening checks first."),
    _("You have tried a listening check too often; try again tomorrow."),
    _("Practise on a few training tasks first."),
    _("Finish the training first."),
    _("You did not pass the training, so this study has no tasks for you."),
    _("Answer this question, or choose “Prefer not to say”."),
    _("Write the text in at least one language."),
    _("There is no consent text yet."),
    _("Publish one first."),
    _("There are no training tasks yet."),
    _("Add training tasks first."),
    _("Give at most %(n)s, or add training tasks."),
    _("%(needed)s right answers are needed, and there are %(n)s training tasks."),
    _("Give each question a key that no other question has."),
)
ALL = (*FILTERS, *PANELS, *FILES, *ROWS, *SOUNDS, *ONBOARDING)


def pattern_regex(pattern: str, blank: str) -> str:
    """A pattern as a regular expression, with `blank` in place of its blanks; \\1 is a blank's name."""
    return re.sub(r"%\\\((\w+)\\\)s", blank, re.escape(pattern))


@lru_cache(maxsize=8)
def _compiled(patterns: tuple[str, ...]) -> list[tuple[str, re.Pattern[str]]]:
    """Those with the most words of their own first: they are the least ambiguous."""
    ordered = sorted(patterns, key=lambda one: -len(re.sub(r"%\(\w+\)s", "", one)))
    return [(one, re.compile(pattern_regex(one, r"(?P<\1>.*)"), re.DOTALL)) for one in ordered]


def translated_by(patterns: tuple[str, ...], sentence: str) -> str:
    """In the reader's language by the pattern that it follows; empty where it follows none."""
    for pattern, regex in _compiled(patterns):
        if match := regex.fullmatch(sentence):
            values = match.groupdict()
            if "phrase" in values:
                values["phrase"] = translated_by(patterns, values["phrase"])
                if not values["phrase"]:
                    continue
            return look_up(pattern) % values if values else look_up(pattern)
    return ""


def translated_sentence(sentence: str) -> str:
    """A problem or a remedy in the reader's language; as it is where it is not listed here."""
    return translated_by(ALL, sentence) or _after_name(sentence) or sentence


def full_stop(sentence: str) -> str:
    return look_up(_("%(sentence)s.")) % {"sentence": sentence}


def _after_name(sentence: str) -> str:
    """Of a file's name with a problem behind it, such as “notes.pdf is a PDF document.”."""
    name, space, problem = sentence.partition(" ")
    while space:
        if translation := translated_by(ALL, problem.removesuffix(".")):
            text = f"{name} {translation}"
            return full_stop(text) if problem.endswith(".") else text
        word, space, problem = problem.partition(" ")
        name = f"{name} {word}"
    return ""
