"""A simulated rater at the rater's API: next task, heartbeat, answers with a listening log, and whatever step a refusal
leads to."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx2

from annotation.simulation.answers import Ballot
from annotation.simulation.profiles import SimulatedRater

# The ballot of an assignment: (assignment id, seconds of its clips by name) → answers.
Decide = Callable[[uuid.UUID, Mapping[str, float]], Ballot]

# The right answers of a listening check that was begun: nobody hears its sounds here.
CheckKeys = Callable[[uuid.UUID], Sequence[int | None]]

HEARTBEAT_SECONDS = 30.0
_ATTEMPTS = 5
_RETRIED = {429, 502, 503, 504}


class Refused(Exception):
    """The server refused a request. `code` is what its problem is called."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status, self.problem = status, problem
        self.code = str(problem.get("title", status))
        faults = "; ".join(str(fault.get("message", "")) for fault in problem.get("errors") or [])
        super().__init__(f"{status} {self.code}: {problem.get('detail', '')} {faults}".strip())


class RaterApi:
    """Requests of one rater, by token."""

    def __init__(self, http: httpx2.Client, token: str) -> None:
        self._http = http
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}

    def get(self, path: str) -> Any:
        return self._send("GET", path, None)

    def post(self, path: str, body: Any = None) -> Any:
        return self._send("POST", path, {} if body is None else body)

    def put(self, path: str, body: Any) -> Any:
        return self._send("PUT", path, body)

    def _send(self, method: str, path: str, body: Any) -> Any:
        """The response's JSON, None where it has none. A busy server is asked again."""
        for attempt in range(_ATTEMPTS):
            response = self._http.request(method, f"/api/v1/{path}", json=body, headers=self._headers)
            if response.status_code not in _RETRIED or attempt == _ATTEMPTS - 1:
                break
            time.sleep(min(float(response.headers.get("Retry-After", 0.2 * 2**attempt)), 5.0))
        if response.is_success:
            return response.json() if response.content else None
        try:
            problem = response.json()
        except ValueError:
            problem = {"detail": response.text[:200]}
        raise Refused(response.status_code, problem if isinstance(problem, Mapping) else {})


@dataclass
class RaterRecord:
    """What a rater met: votes stored, refusals by code, steps done, and why they stopped (empty: they did not), with
    what the server said."""

    votes: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    steps: list[str] = field(default_factory=list)
    stopped: str = ""
    message: str = ""


# Does what a refusal leads to; False where nobody could. By the refusal's code: any other ends the work.
Step = Callable[["RaterSession"], bool]
_MOST_STEPS = 12


class RaterSession:
    """One simulated rater in one study. `work_once` is a task from lease to receipt."""

    def __init__(
        self, rater: SimulatedRater, api: RaterApi, *, slug: str, decide: Decide, keys_of: CheckKeys
    ) -> None:
        self.rater, self.api, self.slug, self.record = rater, api, slug, RaterRecord()
        self._decide, self.keys_of = decide, keys_of

    def work_once(self) -> bool:
        """Whether the rater may go on: False at the end of the queue, or once they are stopped."""
        if self.record.stopped:
            return False
        try:
            briefing = self._next()
            if briefing is None:
                self.record.stopped = self.record.stopped or "no_tasks"
                return False
            self._judge(briefing)
        except Refused as refusal:
            self.record.refusals[refusal.code] += 1
            self.record.stopped, self.record.message = refusal.code, str(refusal)
            return False
        return True

    def look_again(self) -> None:
        """Come back to a queue that had ended: others' work may have been excluded meanwhile."""
        if self.record.stopped == "no_tasks":
            self.record.stopped = ""

    def _next(self) -> dict[str, Any] | None:
        """The next task, after the steps that are due before it; None where there is none."""
        for _ in range(_MOST_STEPS):
            try:
                assignment = self.api.post(f"studies/{self.slug}/next/")["assignment"]
            except Refused as refusal:
                step = STEPS.get(refusal.code)
                if step is None or not step(self):
                    raise
                self.record.steps.append(refusal.code)
                continue
            return dict(assignment) if assignment else None
        self.record.stopped = "too_many_steps"
        return None

    def _judge(self, briefing: Mapping[str, Any]) -> None:
        clips = _clips(briefing)
        assignment = uuid.UUID(briefing["id"])
        ballot = self._decide(assignment, {name: clip["duration"] for name, clip in clips.items()})
        profile = self.rater.profile
        body: dict[str, Any] = {
            "client_id": str(uuid.uuid4()),
            "answers": ballot.answers,
            "codes": ballot.codes,
            "comment": ballot.comment,
            "telemetry": telemetry(
                briefing, listening=profile.listening, thinking=profile.seconds * len(ballot.answers)
            ),
        }
        if body["telemetry"]["shown_s"] > HEARTBEAT_SECONDS:
            self.api.post(f"assignments/{assignment}/heartbeat/")
        path = f"assignments/{assignment}/judgment/"
        try:
            self.api.post(path, body)
        except Refused as refusal:
            if refusal.code != "unheard":
                raise
            # The gate holds: play what it wants and no more.
            self.record.refusals["unheard"] += 1
            body["telemetry"] = telemetry(
                briefing, listening=1.0, thinking=profile.seconds * len(ballot.answers)
            )
            self.api.post(path, body)
        self.record.votes += 1


def _clips(briefing: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """By name, in the order shown."""
    parts = [*briefing["content"], *briefing["candidates"]]
    return {part["clip"]["name"]: part["clip"] for part in parts if part.get("clip")}


def telemetry(briefing: Mapping[str, Any], *, listening: float, thinking: float) -> dict[str, Any]:
    """The log of a browser in which so much was heard of each clip, as a share of what the study requires of it. Time
    is the simulated rater's own: `shown_s` is how long they would have had the task before them."""
    heard = {}
    for name, clip in _clips(briefing).items():
        wanted = clip["must_hear"] or (min(5.0, clip["duration"]) if listening > 1 else 0.0)
        seconds = min(clip["duration"], wanted * listening)
        if seconds > 0:
            heard[name] = [[0.0, round(seconds, 2)]]
    switches = briefing["listening"]["min_switches"]
    switches = 0 if listening <= 0 else round(switches * max(1.0, listening)) + (listening > 1)
    total = sum(end for spans in heard.values() for _, end in spans)
    read = briefing["listening"]["instruction_seconds"] if listening > 0 else 0
    shown = round(total + read + max(thinking, 0.1), 1)
    return {
        "v": 1, "heard": heard, "switches": switches, "plays": len(heard), "seeks": 0, "loops": 0, "stalls": 0,
        "devices": 0, "interruptions": 0, "volume": [1, 1], "muted_s": 0, "hidden_s": 0, "shown_s": shown,
        "latency_ms": None, "session_s": round(shown), "dropped": 0,
    }  # fmt: skip


# ── Steps before the next task ─────────────────────────────────────────────────


def _take_checks(session: RaterSession) -> bool:
    """The listening checks that are due, each trial right with the chance of the profile."""
    rng = session.rater.rng("checks", len(session.record.steps))
    standings = session.api.get(f"studies/{session.slug}/checks/")["checks"]
    if any(row["state"] == "exhausted" for row in standings):
        return False
    for row in standings:
        if row["state"] == "valid":
            continue
        check = session.api.post(f"studies/{session.slug}/checks/", {"kind": row["kind"]})
        keys = session.keys_of(uuid.UUID(check["id"]))
        for trial in range(check["n_answered"], check["n_trials"]):
            choice, key = int(rng.integers(check["n_choices"])), keys[trial]
            if key is not None and rng.random() < session.rater.profile.checks:
                choice = key
            session.api.post(f"checks/{check['id']}/answers/", {"trial": trial, "choice": choice})
    return True


def _consent(session: RaterSession) -> bool:
    text = session.api.get(f"studies/{session.slug}/onboarding/")["consent"]
    body = {"version": text["number"], "accepted": True}
    session.api.post(f"studies/{session.slug}/onboarding/consent/", body)
    return True


def _answer_demographics(session: RaterSession) -> bool:
    rng = session.rater.rng("demographics")
    questions = session.api.get(f"studies/{session.slug}/onboarding/")["questions"]
    options = {question["key"]: [option["key"] for option in question["options"]] for question in questions}
    answers = {
        key: keys[int(rng.integers(len(keys)))] if keys else "simulated" for key, keys in options.items()
    }
    session.api.put(f"studies/{session.slug}/onboarding/demographics/", {"answers": answers})
    return True


def _post_step(name: str) -> Step:
    def step(session: RaterSession) -> bool:
        session.api.post(f"studies/{session.slug}/onboarding/{name}/")
        return True

    return step


STEPS: dict[str, Step] = {
    "consent_due": _consent,
    "demographics_due": _answer_demographics,
    "guidelines_due": _post_step("guidelines"),
    "checks_due": _take_checks,
    # The training tasks come one after the other as the next tasks.
    "training_due": _post_step("training"),
}
