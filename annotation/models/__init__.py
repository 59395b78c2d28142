"""What is asked, who answers and what they said: one file per aggregate."""

from annotation.models.assignment import Assignment
from annotation.models.audit import AuditEvent
from annotation.models.clip import Clip
from annotation.models.item import Candidate, Item, ItemVersion, System
from annotation.models.job import Job
from annotation.models.judgment import Answer, Exclusion, Judgment
from annotation.models.listening import ListeningCheck
from annotation.models.people import Invitation, Membership, Rater, User
from annotation.models.protocol import ProtocolVersion, Question
from annotation.models.review import (
    CaseEvent,
    CaseReason,
    Correction,
    Draft,
    Return,
    ReviewCase,
    ReviewView,
)
from annotation.models.study import Study
from annotation.models.sweep import FlagSweep, StoppingSweep
from annotation.models.task import BarredRater, GoldKey, Task, TaskCandidate

__all__ = [
    "Answer",
    "Assignment",
    "AuditEvent",
    "BarredRater",
    "Candidate",
    "CaseEvent",
    "CaseReason",
    "Clip",
    "Correction",
    "Draft",
    "Exclusion",
    "FlagSweep",
    "GoldKey",
    "Invitation",
    "Item",
    "ItemVersion",
    "Job",
    "Judgment",
    "ListeningCheck",
    "Membership",
    "ProtocolVersion",
    "Question",
    "Rater",
    "Return",
    "ReviewCase",
    "ReviewView",
    "StoppingSweep",
    "Study",
    "System",
    "Task",
    "TaskCandidate",
    "User",
]
