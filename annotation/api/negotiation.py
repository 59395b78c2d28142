"""Which renderer answers. `format` in the query chooses one where there is one of that name, as of the API's
description; elsewhere it is the endpoint's own word, such as the kind of file that is asked for."""

from __future__ import annotations

from collections.abc import Iterable

from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer


class OwnFormats(DefaultContentNegotiation):
    def filter_renderers(self, renderers: Iterable[BaseRenderer], format: str) -> list[BaseRenderer]:
        every = list(renderers)
        return [one for one in every if one.format == format] or every
