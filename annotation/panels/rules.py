"""Rules of panels, without Django: what a panel's link says of a participant, where they are sent back to, and what a
researcher is advised to pay."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qs, quote, urlencode, urlsplit

REASONS = ("completed", "screened_out", "failed_quality", "no_consent")
MAX_VALUE = 200
PARAMETER = re.compile(r"[A-Za-z][\w.-]{0,59}")


@dataclass(frozen=True)
class PanelKind:
    """What is known of a panel by name: its parameters, what its participant ids look like, and where codes go."""

    id_parameter: str
    recorded: tuple[str, ...] = ()
    id_pattern: str = r"\S.{0,199}"
    # Where its participants are sent back to with a code; empty where every link says it.
    address: str = ""
    # What the panel writes into the link for each participant: parameter = placeholder.
    placeholders: Mapping[str, str] = field(default_factory=dict)


KINDS: Mapping[str, PanelKind] = {
    "prolific": PanelKind(
        "PROLIFIC_PID",
        ("STUDY_ID", "SESSION_ID"),
        id_pattern=r"[0-9a-fA-F]{24}",
        address="https://app.prolific.com/submissions/complete?cc={code}",
        placeholders={name: f"{{{{%{name}%}}}}" for name in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")},
    ),
    # Mechanical Turk adds its parameters to the address by itself.
    "mturk": PanelKind("workerId", ("assignmentId", "hitId", "turkSubmitTo"), id_pattern=r"A[0-9A-Z]{5,30}"),
    "other": PanelKind("participant"),
}
# In `assignmentId`, while a worker looks at a HIT that they have not accepted.
MTURK_PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
# Where Mechanical Turk takes the form of a finished assignment: no other host is sent anything.
MTURK_HOSTS = ("www.mturk.com", "workersandbox.mturk.com")
# A placeholder that a panel did not fill: {{%NAME%}}, ${NAME}, %NAME%, [NAME].
_PLACEHOLDER = re.compile(r"\{\{.*\}\}|\$\{.*\}|%[A-Za-z_]+%|\[[^\]]*\]|\{[^}]*\}|<[^>]*>")


# ── Arrival ────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class LinkRules:
    """What a link declares about the addresses that participants open."""

    panel: str
    id_parameter: str
    recorded: Sequence[str] = ()
    signature_parameter: str = ""
    signature_secret: str = ""


@dataclass(frozen=True)
class Arrival:
    """Who a link says is coming. `problem`: why nobody can begin by it (`missing_id`, `unfilled`, `bad_id`,
    `bad_signature`, `preview`); empty where they can."""

    participant_id: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    # By a signed address of those who run the study: nothing that an ordinary link says makes a test.
    is_test: bool = False


def read_arrival(link: LinkRules, query: Mapping[str, str]) -> Arrival:
    """Read the parameters of an opened link. Those that the link does not name are ignored, never recorded."""
    kind = KINDS[link.panel]
    values = {name: _clean(query.get(name, "")) for name in (link.id_parameter, *link.recorded)}
    participant_id = values.pop(link.id_parameter)
    parameters = {name: value for name, value in values.items() if value}
    if link.panel == "mturk" and query.get("assignmentId") == MTURK_PREVIEW:
        return Arrival(problem="preview")
    if not participant_id:
        return Arrival(parameters=parameters, problem="missing_id")
    if _PLACEHOLDER.fullmatch(participant_id):
        return Arrival(parameters=parameters, problem="unfilled")
    if not re.fullmatch(kind.id_pattern, participant_id):
        return Arrival(parameters=parameters, problem="bad_id")
    if link.signature_parameter:
        expected = signature(link.signature_secret, participant_id)
        # As bytes: what a link brings may be any text.
        brought = query.get(link.signature_parameter, "").lower().encode(errors="replace")
        if not hmac.compare_digest(expected.encode(), brought):
            return Arrival(parameters=parameters, problem="bad_signature")
    return Arrival(participant_id, parameters)


def _clean(value: str) -> str:
    """As it can be stored: no NUL, no half characters, no blanks around it, of a bounded length."""
    return value.replace("\x00", "").encode(errors="ignore").decode().strip()[:MAX_VALUE]


def signature(secret: str, participant_id: str) -> str:
    """HMAC-SHA256 of the participant's id, in hexadecimal: what a panel that can sign adds to its link."""
    return hmac.new(secret.encode(), participant_id.encode(), hashlib.sha256).hexdigest()


def link_to_paste(address: str, link: LinkRules) -> str:
    """The address as it is pasted into the panel, with the placeholders that it fills for each participant."""
    kind = KINDS[link.panel]
    if link.panel == "mturk":
        return address
    placeholders = {
        name: kind.placeholders.get(name, f"[{name}]")
        for name in (link.id_parameter, *link.recorded, link.signature_parameter)
        if name
    }
    return f"{address}?{urlencode(placeholders, safe='{}%[]')}"


# ── The way back ───────────────────────────────────────────────────────────────


def way_back(panel: str, code: str, fields: Mapping[str, str]) -> tuple[str, str]:
    """(code to show, address to open) for what a link holds for a reason: a code, or a whole address, in which
    {participant} and the names of recorded parameters stand for their values. Each empty where there is none."""
    if not code:
        return "", ""
    if not is_address(code):
        template = KINDS[panel].address
        return code, template.format(code=quote(code, safe="")) if template else ""
    address = re.sub(
        r"\{([\w.-]+)\}",
        lambda match: quote(fields[match[1]], safe="") if match[1] in fields else match[0],
        code,
    )
    # Prolific's own address holds the code, which participants may need to type.
    shown = parse_qs(urlsplit(address).query).get("cc", [""])[0] if panel == "prolific" else ""
    return shown, address


def is_address(code: str) -> bool:
    return code.startswith(("https://", "http://"))


def mturk_form_address(submit_to: str) -> str:
    """Where the form of a finished HIT is sent; empty for any host but Mechanical Turk's own."""
    parts = urlsplit(submit_to)
    if parts.scheme != "https" or parts.netloc not in MTURK_HOSTS:
        return ""
    return f"https://{parts.netloc}/mturk/externalSubmit"


# ── Quotas ─────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Quota:
    """At most `places` participants whose answer or URL parameter `field` is `value`; "*" is any that has none of
    its own."""

    field: str
    value: str
    places: int


def applicable_quotas(quotas: Sequence[Quota], answers: Mapping[str, str]) -> list[Quota]:
    """The quotas that a participant falls under, of the fields whose answers are known."""
    found = []
    for name in dict.fromkeys(quota.field for quota in quotas):
        if name not in answers:
            continue
        of_field = [quota for quota in quotas if quota.field == name]
        own = [quota for quota in of_field if quota.value.casefold() == answers[name].casefold()]
        found += own or [quota for quota in of_field if quota.value == "*"]
    return found


# ── The end of a batch ─────────────────────────────────────────────────────────


def is_done_early(*, answered: int, skipped: int) -> bool:
    """Whether a batch that ends before its last task is paid like a whole one: somebody who answered at least as many
    tasks as they skipped did their part, and the others are paid for what they did."""
    return answered > 0 and answered >= skipped


# ── Payment ────────────────────────────────────────────────────────────────────

# Prolific's rule for attention checks: two failed ones in a study of more than five minutes, one in a shorter one.
LONG_STUDY_MINUTES = 5


def advice(panel: str, state: str, *, minutes: float, failed_attention_checks: int, judgments: int) -> str:
    """`pay`, `pay_in_part`, `ask_to_return`, `may_reject`, or `nothing` where no work waits to be paid. `judgments`: of
    tasks that are no training.

    Comprehension checks (training tasks) never count here, and only attention checks of which enough failed allow a
    rejection: an unfair one costs a participant more than it saves."""
    if state == "completed":
        return "pay"
    if state == "failed_quality":
        needed = 2 if panel != "prolific" or minutes > LONG_STUDY_MINUTES else 1
        return "may_reject" if failed_attention_checks >= needed else "ask_to_return"
    # Returned, timed out, withdrawn, or sent back after some work: what was done is owed, whoever ended it.
    return "nothing" if state == "working" or not judgments else "pay_in_part"
