"""Models: one file per aggregate."""

from annotation.models.api import ApiToken, KeptAnswer
from annotation.models.assignment import Assignment
from annotation.models.audit import AuditEvent
from annotation.models.importing import StagedImport, StagedSound, StagedTask, Upload
from annotation.models.item import Candidate, Item, ItemVersion, System
from annotation.models.job import FlagSweep, Job, JobProblem, StoppingSweep
from annotation.models.judgment import Answer, Exclusion, Judgment
from annotation.models.listening import Clip, ListeningCheck
from annotation.models.people import Invitation, Membership, Rater, RaterWithdrawal, User
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
from annotation.models.study import OrderingPolicy, Study
from annotation.models.task import BarredRater, GoldKey, Task, TaskCandidate
from annotation.models.webhook import Webhook, WebhookDelivery

__all__ = [
    "Answer",
    "ApiToken",
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
    "JobProblem",
    "Judgment",
    "KeptAnswer",
    "ListeningCheck",
    "Membership",
    "OrderingPolicy",
    "ProtocolVersion",
    "Question",
    "Rater",
    "RaterWithdrawal",
    "Return",
    "ReviewCase",
    "ReviewView",
    "StagedImport",
    "StagedSound",
    "StagedTask",
    "StoppingSweep",
    "Study",
    "System",
    "Task",
    "TaskCandidate",
    "Upload",
    "User",
    "Webhook",
    "WebhookDelivery",
]
