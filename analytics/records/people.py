"""Members of a study as an export names them: by pseudonym and role, never by account. Who has withdrawn has neither
name nor words in it."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.models import Membership, Rater, Study


@dataclass(frozen=True)
class Person:
    """`pseudonym` is empty for those who do not rate, `role` for those who are no longer members."""

    pseudonym: str = ""
    role: str = ""


def people_of(study: Study) -> dict[int, Person]:
    """By account."""
    raters = Rater.objects.filter(study=study, user__isnull=False, withdrawal=None)
    roles = dict(Membership.objects.filter(study=study).values_list("user_id", "role"))
    pseudonyms = dict(raters.values_list("user_id", "pseudonym"))
    return {
        user: Person(pseudonyms.get(user, ""), roles.get(user, ""))
        for user in pseudonyms.keys() | roles.keys()
    }


def is_withdrawn(rater: Rater | None) -> bool:
    """Read with `select_related("withdrawal")`."""
    return rater is not None and hasattr(rater, "withdrawal")


def accounts_gone(study: Study) -> set[int]:
    """Accounts of those who have withdrawn: as experts they may have left words elsewhere than in judgments."""
    gone = Rater.objects.filter(study=study, user__isnull=False, withdrawal__isnull=False)
    return {user for user in gone.values_list("user_id", flat=True) if user is not None}
