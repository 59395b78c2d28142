"""How a table is to be read, where that is not left to detection: encoding, separator, sheet, pairing."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.importing.formats.dialects import ENCODINGS, SEPARATOR_NAMES, SEPARATORS
from annotation.importing.formats.pairing import ALL_PAIRS, Pairing, PairingError, parse_pairing


class ReadingOptionError(ValueError):
    """An option is none that there is; `name` is the option, the message a sentence with the remedy."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


@dataclass(frozen=True)
class ReadingOptions:
    """`encoding` is a key of ENCODINGS, `separator` a sign or its name, `sheet` a workbook's, `pair` as in
    `pairing.parse_pairing`; what is empty is detected, the first, or all pairs."""

    encoding: str = ""
    separator: str = ""
    sheet: str = ""
    pair: str = ""

    def check(self) -> None:
        """Raises ReadingOptionError."""
        if self.encoding and self.encoding not in ENCODINGS:
            message = f"{self.encoding!r} is not an encoding here; use one of {', '.join(ENCODINGS)}."
            raise ReadingOptionError("encoding", message)
        if self.separator and self.separator_sign not in SEPARATORS:
            message = f"{self.separator!r} is not a separator here; use one of {', '.join(SEPARATOR_NAMES)}."
            raise ReadingOptionError("separator", message)
        try:
            parse_pairing(self.pair)
        except PairingError as error:
            raise ReadingOptionError("pair", str(error)) from error

    @property
    def separator_sign(self) -> str:
        return SEPARATOR_NAMES.get(self.separator, self.separator)

    @property
    def pairing(self) -> Pairing:
        return parse_pairing(self.pair) if self.pair else ALL_PAIRS


DETECT = ReadingOptions()
