"""The tables of a study's data: items, tasks, judgments; raters have theirs in `rater_table`."""

from __future__ import annotations

from analytics.browse.columns import (
    KEY,
    Among,
    AnswerRange,
    Choice,
    Chosen,
    Column,
    CommentText,
    Days,
    Filter,
    Flag,
    ItemText,
    Range,
    ScoreRange,
    Strata,
    Table,
)
from analytics.browse.rater_table import RATERS
from analytics.models.browse import OTHER_KINDS, UNKNOWN
from annotation.models import Assignment, Judgment, Task
from annotation.rating import counted
from annotation.studies.settings import gettext_noop as _

GROUP_WHAT, GROUP_RATERS, GROUP_MODELS, GROUP_REVIEW = (
    _("What is judged"), _("What raters answered"), _("Models"), _("Work and review"),
)  # fmt: skip

KINDS = tuple(
    (kind.name.lower(), label, int(kind))
    for kind, label in (
        (Task.Kind.REGULAR, _("Regular")),
        (Task.Kind.TRAINING, _("Training")),
        (Task.Kind.GOLD, _("Gold")),
        (Task.Kind.TRAP, _("Trap")),
        (Task.Kind.REPEAT, _("Repeat")),
        (Task.Kind.IDENTICAL, _("Identical pair")),
    )
)
TASK_STATES = tuple(
    (state.name.lower(), label, int(state))
    for state, label in (
        (Task.State.READY, _("Ready")),
        (Task.State.HELD, _("Held back")),
        (Task.State.WITHDRAWN, _("Withdrawn")),
    )
)
ITEM_STATES = (("active", _("Active"), 1), ("withdrawn", _("Withdrawn"), 2))
# Of a judgment: what of it counts, and why not. Each is one of these.
STATUSES = (
    ("counted", _("Counts"), f"({counted.COUNTED})"),
    ("excluded", _("Excluded"), f"(j.excluded AND j.effective AND {counted.NOT_EXPERT})"),
    ("surplus", _("Surplus"), "(NOT j.effective AND j.surplus)"),
    ("superseded", _("Changed since"), "(NOT j.effective AND NOT j.surplus)"),
    ("expert", _("Expert's own"), f"(j.effective AND j.origin = {Judgment.Origin.EXPERT:d})"),
)
ORIGINS = tuple(
    (origin.name.lower(), label, int(origin))
    for origin, label in (
        (Judgment.Origin.RATED, _("Rated here")),
        (Judgment.Origin.IMPORTED, _("Imported")),
        (Judgment.Origin.SIMULATED, _("Simulated")),
        (Judgment.Origin.EXPERT, _("Expert's own")),
    )
)
PROGRESS = (
    ("complete", _("Complete"), "s.n_judgments >= s.n_wanted"),
    ("begun", _("Begun"), "(s.n_judgments > 0 AND s.n_judgments < s.n_wanted)"),
    ("untouched", _("Not judged yet"), "s.n_judgments = 0"),
)

_DISAGREEMENT = f"COALESCE(s.disagreement, {UNKNOWN})"
_GAP = f"COALESCE(s.gap, {UNKNOWN})"
_TEXT = ItemText("text", _("Words of name, text or answer"), task=True)
_STRATA = Strata("strata", _("Strata"), "s.strata @> %(strata)s::text[]", task=True, group=GROUP_WHAT)
_SYSTEM = Among(
    "system", _("System"), "s.systems && %(system)s::bigint[]", task=True, group=GROUP_WHAT, source="systems"
)
# As their indexes have them.
_DISAGREES = Range(
    "disagreement", _("Disagreement of raters, 0 to 1"), _DISAGREEMENT, task=True, group=GROUP_RATERS,
    walk_order=_DISAGREEMENT, step="0.05", least=0.0,
)  # fmt: skip
_MODEL_GAP = Range(
    "gap", _("Difference of model and people, 0 to 1"), _GAP, task=True, group=GROUP_MODELS,
    walk_order=_GAP, step="0.05", least=0.0,
)  # fmt: skip
_FLAGGED = Flag(
    "flagged", _("Has an open review case"), "s.flagged", task=True, group=GROUP_REVIEW, walk_order=KEY
)
_NOT_REGULAR = f"s.kinds && ARRAY{OTHER_KINDS}::smallint[]"
# What raters who withdrew judged is not told.
_JUDGED = (
    "annotation_judgment j JOIN analytics_tasksummary x ON x.task_id = j.task_id"
    " WHERE j.rater_id = ANY(%(rater)s)"
    " AND NOT EXISTS (SELECT FROM annotation_raterwithdrawal w WHERE w.rater_id = j.rater_id)"
)
_NOT_COUNTED = f"(j.excluded OR NOT j.effective OR j.origin = {Judgment.Origin.EXPERT:d})"


def _summary_filters(*, of_item: bool) -> tuple[Filter, ...]:
    return (
        _TEXT, _SYSTEM, _STRATA, _state_filter(of_item=of_item), _kind_filter(of_item=of_item), _PROGRESS, _DISAGREES,
        _judged_by_filter(of_item=of_item), *_RATER_FILTERS, _MODEL_GAP,
        ScoreRange("score", _("Score"), group=GROUP_MODELS, of_item=of_item), _FLAGGED,
    )  # fmt: skip


def _judged_by_filter(*, of_item: bool) -> Filter:
    key = "item_id" if of_item else "task_id"
    return Among(
        "rater", _("Judged by"), f"(SELECT coalesce(bool_or(true), false) FROM {_JUDGED} AND x.{key} = s.{key})",
        group=GROUP_RATERS, source="raters", rows=f"s.{key} IN (SELECT x.{key} FROM {_JUDGED})",
    )  # fmt: skip


def _state_filter(*, of_item: bool) -> Filter:
    states = ITEM_STATES if of_item else TASK_STATES
    walks = {name: f"s.state <> 1 AND s.state = {n}" for name, _label, n in states if n != 1}
    return Choice(
        "state", _("State"), "s.state", group=GROUP_WHAT, options=states, walk_order=KEY, walks=walks
    )


def _kind_filter(*, of_item: bool) -> Filter:
    """An item has the kinds of all its tasks."""
    if of_item:
        options = tuple((name, label, f"{value} = ANY(s.kinds)") for name, label, value in KINDS)
        walks = {name: _NOT_REGULAR for name, _label, n in KINDS if n != 1}
        return Choice("kind", _("Kind"), group=GROUP_WHAT, walk_order=KEY, options=options, walks=walks)
    walks = {name: f"s.kind <> 1 AND s.kind = {n}" for name, _label, n in KINDS if n != 1}
    return Choice("kind", _("Kind"), "s.kind", group=GROUP_WHAT, options=KINDS, walk_order=KEY, walks=walks)


def _rare_count(key: str, label: str, column: str) -> Filter:
    """How many there are of what most rows have none of."""
    return Range(
        key, label, column, group=GROUP_RATERS, step="1", walk=f"{column} > 0", walk_order=KEY
    )  # fmt: skip


_PROGRESS = Choice(
    "progress", _("Progress"), group=GROUP_WHAT, options=PROGRESS, walk_order=KEY,
    walks={name: sql for name, _label, sql in PROGRESS},
)  # fmt: skip
_RATER_FILTERS: tuple[Filter, ...] = (
    Range("mean", _("Mean answer to the first question"), "s.mean", group=GROUP_RATERS),
    Range(
        "judgments", _("Judgments that count"), "s.n_judgments", group=GROUP_RATERS, step="1",
        walk_order="s.n_judgments",
    ),
    Among(
        "code", _("Feedback codes"), "s.codes && %(code)s::varchar[]", group=GROUP_RATERS, source="codes", type="text"
    ),
    _rare_count("comments", _("Comments"), "s.n_comments"),
    _rare_count("skips", _("Skips"), "s.n_skips"),
    _rare_count("excluded", _("Excluded judgments"), "s.n_excluded"),
    Days("judged", _("Last judged"), "s.last_judged_at", group=GROUP_RATERS),
)  # fmt: skip


SYSTEM_NAMES = "ARRAY(SELECT y.name FROM annotation_system y WHERE y.id = ANY(s.systems) ORDER BY y.name)"
# The reasons of skips with how many gave each.
_SKIP_REASONS = """
(SELECT jsonb_object_agg(reason, n) FROM (
    SELECT coalesce(nullif(a.skip_reason, ''), '?') AS reason, count(*) AS n FROM annotation_assignment a
    WHERE a.state = {skipped} AND a.task_id {of} AND {not_withdrawn} GROUP BY 1) AS skips)
"""
_SKIP_COMMENTS = """
ARRAY(SELECT a.skip_comment FROM annotation_assignment a
      WHERE a.state = {skipped} AND a.skip_comment <> '' AND a.task_id {of} AND {not_withdrawn}
      ORDER BY a.closed_at, a.id)
"""
_OF_TASK, _OF_ITEM = (
    "= s.task_id",
    "IN (SELECT x.task_id FROM analytics_tasksummary x WHERE x.item_id = s.item_id)",
)
# Of a question with several answers, how often each option was chosen.
_VOTES = """
(SELECT jsonb_object_agg(value, n) FROM (
    SELECT v.value, count(*) AS n FROM annotation_answer a
    CROSS JOIN unnest(coalesce(a.selected::float8[], ARRAY[coalesce(a.choice, a.value)]::float8[])) AS v (value)
    WHERE a.task_id {of} AND a.counted AND a.question_id = ANY(%(leading)s)
      AND v.value IS NOT NULL GROUP BY 1) AS votes)
"""
_NOT_WITHDRAWN = "NOT EXISTS (SELECT FROM annotation_raterwithdrawal w WHERE w.rater_id = a.rater_id)"
_ITEM_WORDING = "left(coalesce(nullif(v.question, ''), nullif(v.prompt, ''), v.lyrics), 400)"


def _skips(sql: str, of: str) -> str:
    return sql.format(skipped=int(Assignment.State.SKIPPED), of=of, not_withdrawn=_NOT_WITHDRAWN)


def _summary_columns(*, of_item: bool) -> tuple[Column, ...]:
    of = _OF_ITEM if of_item else _OF_TASK
    own = (
        (Column("tasks", _("Tasks"), "number", "s.n_tasks", shown=False),)
        if of_item
        else (Column("kind", _("Kind"), "kind", "s.kind", shown=False),)
    )
    return (
        Column("name", _("Item") if of_item else _("Task"), "name", "s.name", sort="s.name"),
        Column("text", _("Text"), "text", _ITEM_WORDING, wide=True),
        Column("clips", _("Listen"), "clips", wide=True),
        Column("systems", _("Systems"), "tags", SYSTEM_NAMES, shown=False),
        Column("strata", _("Strata"), "strata", "s.strata", shown=False),
        Column("state", _("State"), "item_state" if of_item else "task_state", "s.state", shown=False),
        *own,
        Column("judgments", _("Judgments"), "progress", "s.n_judgments", sort="s.n_judgments"),
        Column("votes", _("Answers"), "votes", _VOTES.format(of=of), shown=not of_item,
               help=_("To the study's first question.")),
        Column("mean", _("Mean"), "decimal", "s.mean", shown=False, help=_("Of the first question.")),
        Column("disagreement", _("Disagreement"), "meter", "s.disagreement", sort=_DISAGREEMENT,
               help=_("0: all raters agree. 1: they differ as far as they can.")),
        Column("gap", _("Model and people"), "meter", "s.gap", sort=_GAP, shown=False,
               help=_("How far the study's scorer is from the raters, from 0 to 1.")),
        Column("scores", _("Scores"), "scores", shown=False),
        Column("codes", _("Codes"), "codes", "s.codes"),
        Column("comments", _("Comments"), "number", "s.n_comments", shown=False),
        Column("skips", _("Skips"), "number", "s.n_skips", shown=False),
        Column("skip_reasons", _("Skip reasons"), "counts", _skips(_SKIP_REASONS, of), shown=False),
        Column("skip_comments", _("Comments of skips"), "texts", _skips(_SKIP_COMMENTS, of), shown=False),
        Column("excluded", _("Excluded"), "number", "s.n_excluded", shown=False),
        Column("flagged", _("Review"), "flagged", "s.flagged"),
        Column("judged_at", _("Last judged"), "date", "s.last_judged_at", shown=False),
    )  # fmt: skip


ITEMS = Table(
    name="items",
    label=_("Items"),
    key="s.item_id",
    source="analytics_itemsummary s",
    scope="s.study_id = %(study)s",
    detail="analytics_itemsummary s LEFT JOIN annotation_item i ON i.id = s.item_id"
    " LEFT JOIN annotation_itemversion v ON v.id = i.current_version_id",
    columns=_summary_columns(of_item=True),
    filters=_summary_filters(of_item=True),
    default_sort="",
)
TASKS = Table(
    name="tasks",
    label=_("Tasks"),
    key="s.task_id",
    source="analytics_tasksummary s",
    scope="s.study_id = %(study)s",
    detail="analytics_tasksummary s LEFT JOIN annotation_task t ON t.id = s.task_id"
    " LEFT JOIN annotation_itemversion v ON v.id = t.item_version_id LEFT JOIN annotation_item i ON i.id = s.item_id",
    columns=_summary_columns(of_item=False),
    filters=_summary_filters(of_item=False),
    default_sort="",
)
_STATUS = "CASE " + " ".join(f"WHEN {sql} THEN '{name}'" for name, _label, sql in STATUSES) + " END"
JUDGMENTS = Table(
    name="judgments",
    label=_("Judgments"),
    key="j.id",
    source="annotation_judgment j",
    scope="j.study_id = %(study)s",
    detail="annotation_judgment j LEFT JOIN analytics_tasksummary s ON s.task_id = j.task_id"
    " LEFT JOIN annotation_rater r ON r.id = j.rater_id LEFT JOIN annotation_task t ON t.id = j.task_id"
    " LEFT JOIN annotation_itemversion v ON v.id = t.item_version_id LEFT JOIN annotation_item i ON i.id = v.item_id",
    columns=(
        Column("at", _("Time"), "date", "j.submitted_at", sort="j.submitted_at"),
        Column("name", _("Task"), "name", "t.external_id"),
        Column("rater", _("Rater"), "rater", "r.pseudonym"),
        Column("answer", _("Answer"), "answer", wide=True),
        Column("clips", _("Listen"), "clips", wide=True),
        Column("codes", _("Codes"), "codes", "j.codes"),
        Column("comment", _("Comment"), "text", "j.comment", wide=True),
        Column("status", _("State"), "status", _STATUS),
        Column("text", _("Text"), "text", _ITEM_WORDING, shown=False, wide=True),
        Column("heard", _("Heard"), "heard", shown=False),
        Column("seconds", _("Seconds"), "decimal",
               "extract(epoch FROM j.submitted_at - j.started_at)::float8", shown=False),
        Column("systems", _("Systems"), "tags", SYSTEM_NAMES, shown=False),
        Column("strata", _("Strata"), "strata", "s.strata", shown=False),
        Column("kind", _("Kind"), "kind", "t.kind", shown=False),
        Column("origin", _("Origin"), "origin", "j.origin", shown=False),
        Column("revision", _("Revision"), "number", "j.revision", shown=False),
        Column("disagreement", _("Disagreement"), "meter", "s.disagreement", shown=False,
               help=_("Of the task: 0 where all raters agree, 1 where they differ as far as they can.")),
        Column("client_id", _("Judgment's id"), "code", "j.client_id::text", shown=False),
    ),
    filters=(
        _TEXT,
        Choice("status", _("State"), group=GROUP_RATERS, options=STATUSES, walk_order="j.submitted_at",
               walks=dict.fromkeys(("excluded", "surplus", "superseded", "expert"), _NOT_COUNTED)),
        Among("rater", _("Rater"), "j.rater_id = ANY(%(rater)s)", group=GROUP_RATERS, source="raters"),
        AnswerRange("answer", _("Answer"), group=GROUP_RATERS),
        Chosen("chosen", _("Chose"), group=GROUP_RATERS, source="chosen"),
        Among("code", _("Feedback codes"), "(NOT (j.codes = '{}'::varchar(16)[]) AND j.codes && %(code)s::varchar[])",
              group=GROUP_RATERS, source="codes", type="text"),
        Flag("commented", _("Has a comment"), "NOT (j.comment = '')", group=GROUP_RATERS,
             walk_order="j.submitted_at"),
        CommentText("comment", _("Words of the comment"), group=GROUP_RATERS),
        Days("at", _("Judged"), "j.submitted_at", group=GROUP_RATERS, walk_order="j.submitted_at"),
        Choice("origin", _("Origin"), "j.origin", group=GROUP_RATERS, options=ORIGINS,
               walk_order="j.submitted_at", walks={"expert": _NOT_COUNTED}),
        _SYSTEM, _STRATA,
        Choice("kind", _("Kind"), "s.kind", task=True, group=GROUP_WHAT, options=KINDS),
        Choice("state", _("State of the task"), "s.state", task=True, group=GROUP_WHAT, options=TASK_STATES),
        _DISAGREES, _MODEL_GAP,
        ScoreRange("score", _("Score"), task=True, group=GROUP_MODELS),
        _FLAGGED,
    ),
    default_sort="-at",
    is_judgments=True,
)  # fmt: skip
TABLES = {table.name: table for table in (ITEMS, TASKS, JUDGMENTS, RATERS)}
