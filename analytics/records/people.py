"""Members of a study as an export names them: by pseudonym and role, never by account."""

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
    raters = Rater.objects.filter(study=study, user__isnull=False).values_list("user_id", "pseudonym")
    roles = dict(Membership.objects.filter(study=study).values_list("user_id", "role"))
    pseudonyms = dict(raters)
    return {
        user: Person(pseudonyms.get(user, ""), roles.get(user, ""))
        for user in pseudonyms.keys() | roles.keys()
    }
