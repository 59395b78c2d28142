"""What a release is made from: with the database, all that is needed to make it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime
from typing import Any

from analytics.releases.horizon import Horizon
from analytics.releases.wishes import Wishes
from annotation.errors import InvalidInput
from annotation.models import Study
from annotation.rules.ordering import MADE_FROM

# Rules of a study that mean something on this installation only.
_OWN = {"prescore", MADE_FROM}


@dataclass(frozen=True)
class Cut:
    """A study at one moment. `study` is what may change of it; `date` is all that a release says of when it was."""

    number: int
    date: str
    wishes: Wishes
    study: Mapping[str, Any]
    horizon: Horizon

    def as_json(self) -> dict[str, Any]:
        cut = asdict(self)
        cut["horizon"]["checks"] = list(self.horizon.checks)
        cut["wishes"]["language"] = list(self.wishes.language)
        return cut

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Cut:
        """Raises InvalidInput for what no release has written."""
        try:
            wishes = replace(Wishes(**told["wishes"]), language=tuple(told["wishes"]["language"]))
            horizon = replace(Horizon(**told["horizon"]), checks=tuple(told["horizon"]["checks"]))
            return cls(told["number"], told["date"], wishes, dict(told["study"]), horizon)
        except (KeyError, TypeError) as error:
            raise InvalidInput(
                f"This is not the manifest of a release: {error}. Give the manifest.json that came with one.",
                code="bad_manifest",
            ) from error


def of(study: Study, horizon: Horizon, *, number: int, wishes: Wishes, today: date | None = None) -> Cut:
    told = {
        name: getattr(study, name)
        for name in ("slug", "title", "description", "state", "overlap", "order", "seed")
    }
    told["rules"] = {name: rule for name, rule in study.rules.items() if name not in _OWN}
    day = today or datetime.now(tz=UTC).date()
    return Cut(number, day.isoformat(), wishes, told, horizon)
