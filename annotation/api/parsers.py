"""Reading request bodies without trusting their size or depth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import JSONParser
from rest_framework.request import Request


class TooLarge(APIException):
    status_code = 413
    default_detail = "This request is too large."
    default_code = "too_large"


class BoundedJSONParser(JSONParser):
    """REST framework's, which reads whatever is sent, kept to DATA_UPLOAD_MAX_MEMORY_SIZE."""

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        if parser_context:
            refuse_larger(parser_context["request"], settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
        try:
            return super().parse(stream, media_type, parser_context)
        except RecursionError:
            raise ParseError("This JSON is nested too deeply.") from None


def refuse_larger(request: Request, n_bytes: int) -> None:
    """Raise TooLarge by the stated length, which is also as far as anybody reads."""
    stated = request.META.get("CONTENT_LENGTH") or "0"
    if stated.isdecimal() and int(stated) > n_bytes:
        raise TooLarge
