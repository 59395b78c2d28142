"""What the two hot requests need to know of a rater and of what they hold: one row each, fetched by `access`."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime

from annotation.rules.ordering import Ordering


@dataclass(frozen=True)
class RaterAtWork:
    """A rater who asks for a task: what leasing needs to know of them and of their study."""

    rater_id: int
    rater_state: str
    cursor: float
    n_judgments: int
    study_id: int
    study_state: str
    seed: int
    n_tasks: int
    lease_minutes: int
    protocol_version_id: int
    # Their live leases, oldest first, as of the moment the row was asked for.
    open_leases: list[uuid.UUID]
    # Whether the study wants listening checks.
    requires_checks: bool
    # Where the study shows what a model says: the share of assignments that it is kept from. Nothing is shown to
    # simulated raters.
    hints_withheld: float | None
    # Where the study orders tasks by a policy: its version in force.
    policy_id: int | None
    ordering: Ordering | None


@dataclass(frozen=True)
class HeldAssignment:
    """A rater's own assignment at the moment they answer it."""

    id: uuid.UUID
    state: int
    presentation: list[int]
    leased_at: datetime
    protocol_version_id: int
    rater_id: int
    task_id: int
    task_state: int
    study_id: int
    # Nobody plays anything to a simulated rater.
    simulated: bool = False
