"""Panel links of a study: made and changed by those who run it."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.db import transaction

from annotation.errors import Conflict, FieldProblem, InvalidInput
from annotation.models import Item, PanelLink, Study, User
from annotation.panels import rules
from annotation.panels.rules import KINDS, LinkRules, Quota
from annotation.studies import audit

MAX_LINKS = 100
# What a link is made with and may be changed to; its panel and its parameters stay once participants have come.
FIELDS = (
    "name", "panel", "id_parameter", "recorded_parameters", "signature_parameter", "completed_code",
    "screened_out_code", "failed_quality_code", "no_consent_code", "batch_size", "max_batches", "places", "quotas",
    "stratum_quotas", "idle_minutes", "limit_minutes", "may_return", "reward", "currency", "is_open",
)  # fmt: skip
FIXED = ("panel", "id_parameter")
CODES = ("completed_code", "screened_out_code", "failed_quality_code", "no_consent_code")
# Codes are no secrets of the log's readers, but whoever has one is paid: the log says that they changed.
_UNLOGGED = frozenset(CODES)


@transaction.atomic
def create_link(study: Study, *, actor: User | None, **values: Any) -> PanelLink:
    """A new way into a study. What the panel is known for is filled in where nothing else is given."""
    if study.panel_links.count() >= MAX_LINKS:
        raise Conflict(f"A study has {MAX_LINKS} panel links at the most.", code="too_many")
    kind = KINDS.get(str(values.get("panel")), KINDS["other"])
    link = PanelLink(study=study, created_by=actor, id_parameter=kind.id_parameter)
    link.recorded_parameters = list(kind.recorded)
    _assign(link, {name: value for name, value in values.items() if value not in ("", [])})
    link.save()
    audit.record(
        "panel.link_created", actor=actor, study=study, subject=f"panel link {link.pk}", name=link.name,
        panel=link.panel,
    )  # fmt: skip
    return link


@transaction.atomic
def change_link(link: PanelLink, *, actor: User, **values: Any) -> PanelLink:
    """Change some of `FIELDS`. Raises InvalidInput with every problem, and changes nothing then."""
    link = PanelLink.objects.select_for_update().select_related("study").get(pk=link.pk)
    before = {name: getattr(link, name) for name in FIELDS}
    _assign(link, values)
    changed = [name for name in FIELDS if getattr(link, name) != before[name]]
    if any(name in FIXED for name in changed) and link.taken_places.exists():
        raise InvalidInput.of_field(
            next(name for name in changed if name in FIXED),
            "Participants have come by this link already, so this stays as it is. Make another link.",
        )
    if changed or link.signature_parameter:
        link.save()
    if changed:
        audit.record(
            "panel.link_changed", actor=actor, study=link.study, subject=f"panel link {link.pk}",
            changes={name: _logged(name, before[name], getattr(link, name)) for name in changed},
        )  # fmt: skip
    return link


def _logged(name: str, before: Any, after: Any) -> list[Any]:
    if name in _UNLOGGED:
        return ["…" if value else "" for value in (before, after)]
    return [str(value) if isinstance(value, Decimal) else value for value in (before, after)]


def rules_of(link: PanelLink) -> LinkRules:
    return LinkRules(
        panel=link.panel,
        id_parameter=link.id_parameter,
        recorded=link.recorded_parameters,
        signature_parameter=link.signature_parameter,
        signature_secret=link.signature_secret,
    )


def quotas_of(link: PanelLink) -> list[Quota]:
    return [Quota(**quota) for quota in link.quotas]


def _assign(link: PanelLink, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if name not in FIELDS:
            raise InvalidInput.of_field(name, f"There is no such setting; there are {', '.join(FIELDS)}.")
        setattr(link, name, value.strip() if isinstance(value, str) else value)
    link.currency = link.currency.upper()
    if problems := _problems(link):
        raise InvalidInput("This panel link cannot be used.", problems=problems)
    if link.signature_parameter and not link.signature_secret:
        link.signature_secret = secrets.token_urlsafe(32)


def _problems(link: PanelLink) -> list[FieldProblem]:
    problems = []
    if not link.name or len(link.name) > 100:
        problems.append(FieldProblem("name", "Give it a name of at most 100 characters."))
    if link.panel not in KINDS:
        return [*problems, FieldProblem("panel", f"{link.panel!r} is not one of {', '.join(KINDS)}.")]
    problems += _parameter_problems(link)
    for name in CODES:
        code = getattr(link, name)
        if len(code) > 500 or re.search(r"\s", code):
            problems.append(
                FieldProblem(name, "A code or an address has no blanks and at most 500 characters.")
            )
        elif code.startswith("http://"):
            problems.append(FieldProblem(name, "Give an address that begins with https://."))
    bounds = (
        ("batch_size", 1, 10_000), ("max_batches", 1, 1000), ("places", 1, 1_000_000),
        ("idle_minutes", 5, 10_080), ("limit_minutes", 0, 10_080),
    )  # fmt: skip
    for name, least, most in bounds:
        value = getattr(link, name)
        if value is not None and not least <= value <= most:
            problems.append(FieldProblem(name, f"Give a whole number from {least} to {most}."))
    if link.reward is not None and not 0 <= link.reward < 1_000_000:
        problems.append(FieldProblem("reward", "Give an amount from 0 to 999999.99."))
    if link.currency and not re.fullmatch(r"[A-Z]{3}", link.currency):
        problems.append(FieldProblem("currency", "Give the three letters of a currency, such as GBP."))
    return problems + _quota_problems("quotas", link.quotas) + _stratum_problems(link)


def _parameter_problems(link: PanelLink) -> list[FieldProblem]:
    problems = []
    named = [("id_parameter", link.id_parameter)]
    named += [("recorded_parameters", name) for name in link.recorded_parameters]
    named += [("signature_parameter", link.signature_parameter)] if link.signature_parameter else []
    for field, name in named:
        if not rules.PARAMETER.fullmatch(name):
            problems.append(
                FieldProblem(field, f"{name!r} cannot be a URL parameter: use letters, digits, _ and -.")
            )
    names = [name for _field, name in named]
    if len(names) != len(set(names)):
        problems.append(FieldProblem("recorded_parameters", "Name each parameter once."))
    if len(names) > 20:
        problems.append(FieldProblem("recorded_parameters", "Record 18 parameters at the most."))
    return problems


def _stratum_problems(link: PanelLink) -> list[FieldProblem]:
    """A quota of a stratum that no item is in would hold nobody back, and most likely is misspelt."""
    problems = _quota_problems("stratum_quotas", link.stratum_quotas)
    for number, quota in enumerate([] if problems else link.stratum_quotas):
        stratum = {quota["field"]: quota["value"]}
        if not Item.objects.filter(study_id=link.study_id, strata__contains=stratum).exists():
            message = f"No item of this study has {quota['field']} = {quota['value']}."
            remedy = "Write it as the items do, or import them first."
            problems.append(FieldProblem(f"stratum_quotas[{number}]", message, remedy))
    return problems


def _quota_problems(name: str, quotas: Sequence[Any]) -> list[FieldProblem]:
    """Quotas as they are stored: [{"field": "gender", "value": "female", "places": 20}, …]."""
    seen, problems = set(), []
    for number, quota in enumerate(quotas):
        where = f"{name}[{number}]"
        if not isinstance(quota, Mapping) or set(quota) != {"field", "value", "places"}:
            problems.append(FieldProblem(where, "A quota has a field, a value and its places."))
            continue
        if not all(
            isinstance(quota[name], str) and 0 < len(quota[name]) <= 200 for name in ("field", "value")
        ):
            problems.append(FieldProblem(where, "Give the field and the value as texts."))
        elif not isinstance(quota["places"], int) or not 0 <= quota["places"] <= 1_000_000:
            problems.append(FieldProblem(where, "Give the places as a whole number from 0 to 1000000."))
        elif (key := (quota["field"], quota["value"].casefold())) in seen:
            problems.append(FieldProblem(where, f"{quota['field']} = {quota['value']} has two quotas."))
        else:
            seen.add(key)
    return problems
