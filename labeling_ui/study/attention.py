"""What of a study needs its researcher first: failed or waiting work, cases, disputed items, raters with odd figures;
and when it may be finished."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from analytics.overview.course import Course, Disputed
from analytics.overview.study import Progress, StudyOverview
from annotation.checks import pools
from annotation.checks import rules as check_rules
from annotation.models import Job, Rater, Study, User
from annotation.protocols import Protocol
from annotation.review import queue
from labeling_ui.study.check_views import KIND_TITLES
from labeling_ui.templatetags.formatting import in_language

# A worker takes work within seconds: what waits longer finds none.
WAITS_TOO_LONG = timedelta(minutes=2)
# Failures of last week are history.
FAILED_LATELY = timedelta(days=7)
# A rater who skips this many tasks, and one for every two judgments, has trouble with something.
MANY_SKIPS, SKIPS_PER_JUDGMENT = 5, 0.5
RATERS_NAMED = 3


@dataclass(frozen=True)
class Matter:
    """One problem to look at. `weight`: "bad" where something is broken, else "warn"."""

    weight: str
    text: str
    url: str
    action: str


def matters(study: Study, overview: StudyOverview, jobs: Sequence[Job], *, reader: User) -> list[Matter]:
    """The most urgent first; by two queries, and by three more where the study has hidden checks."""
    return [*_jobs(jobs), *_cases(study, reader), *_checks(study), *_raters(study, overview)]


def _jobs(jobs: Sequence[Job]) -> Iterator[Matter]:
    now = timezone.now()
    for job in jobs:
        url = reverse("job", args=[job.pk])
        waits = job.state == Job.State.QUEUED and now - job.created_at > WAITS_TOO_LONG
        if waits:
            yield Matter("bad", _("Work waits and no worker takes it."), url, _("See the job"))
        elif job.state == Job.State.FAILED and now - job.created_at < FAILED_LATELY:
            yield Matter("bad", _("A job has failed."), url, _("See why"))


def _cases(study: Study, reader: User) -> Iterator[Matter]:
    counts = queue.queue_counts(study, reader=reader)
    if counts.open:
        text = ngettext("%(n)d review case is open.", "%(n)d review cases are open.", counts.open)
        yield Matter(
            "warn", text % {"n": counts.open}, reverse("review_queue", args=[study.slug]), _("Review")
        )


def _checks(study: Study) -> Iterator[Matter]:
    """Pools that end before the tasks do: raters get regular tasks from there on."""
    if check_rules.injection_in(study.rules.get("injection")) is None:
        return
    url = reverse("hidden_checks", args=[study.slug])
    for pool in pools.pools_of(study):
        if pool.share and pool.n_tasks == 0:
            text = _("%(kind)s: there are none, so raters get regular tasks instead.")
            yield Matter("warn", text % {"kind": KIND_TITLES[pool.kind]}, url, _("Make some"))
        elif pool.lasts is not None:
            text = _("%(kind)s: there are enough for about %(n)d tasks of a rater.")
            yield Matter(
                "warn", text % {"kind": KIND_TITLES[pool.kind], "n": pool.lasts}, url, _("Make more")
            )


def _raters(study: Study, overview: StudyOverview) -> Iterator[Matter]:
    skippers = Rater.objects.filter(
        study=study, state=Rater.State.ACTIVE, n_skips__gte=MANY_SKIPS,
        n_skips__gt=F("n_judgments") * SKIPS_PER_JUDGMENT,
    )  # fmt: skip
    for rater in skippers.order_by("-n_skips")[:RATERS_NAMED]:
        text = _("%(rater)s skipped %(skips)d tasks and judged %(judgments)d.")
        values = {"rater": rater.pseudonym, "skips": rater.n_skips, "judgments": rater.n_judgments}
        yield Matter(
            "warn", text % values, reverse("rater", args=[study.slug, rater.pseudonym]), _("See why")
        )
    marked = [row for row in overview.raters.rows if row.screened and row.screened.marks]
    for row in marked[:RATERS_NAMED]:
        text = _("%(rater)s missed trials with a known answer.") % {"rater": row.pseudonym}
        yield Matter("warn", text, reverse("rater", args=[study.slug, row.pseudonym]), _("Listen"))


@dataclass(frozen=True)
class DisputedLine:
    disputed: Disputed
    question: str

    @property
    def length(self) -> float:
        return round(100 * min(1.0, self.disputed.spread), 1)


def disputed_lines(course: Course | None, protocol: Protocol) -> list[DisputedLine]:
    if course is None:
        return []
    titles = {question.key: in_language(question.title) for question in protocol.questions}
    return [DisputedLine(one, titles.get(one.question, one.question)) for one in course.disputed]


@dataclass(frozen=True)
class Curve:
    """Judgments over time as a drawing of 100 by 40: a line that rises to `top`, and the area below it."""

    line: str
    area: str
    first: datetime
    last: datetime
    total: int
    top: int
    wanted_at: float | None


def curve(course: Course | None, progress: Progress) -> Curve | None:
    """None where there is no line to draw: less than two moments."""
    if course is None or len(course.points) < 2:
        return None
    total, sums = 0, []
    for _at, n in course.points:
        total += n
        sums.append(total)
    top = max(total, progress.judgments_wanted or 0)
    first, last = course.points[0][0], course.points[-1][0]
    width = (last - first).total_seconds() or 1.0
    places = [
        (round(100 * (at - first).total_seconds() / width, 2), round(40 - 38 * n / top, 2))
        for (at, _n), n in zip(course.points, sums, strict=True)
    ]
    line = " ".join(f"{x},{y}" for x, y in places)
    wanted = progress.judgments_wanted
    wanted_at = round(40 - 38 * wanted / top, 2) if wanted else None
    return Curve(line, f"0,40 {line} 100,40", first, last, total, top, wanted_at)


def finish_sentence(study: Study, course: Course | None, progress: Progress) -> str:
    """When the judgments wanted may be there, if the last days are a guide; empty without an estimate."""
    if study.state != Study.State.RUNNING or course is None or not progress.judgments_wanted:
        return ""
    missing = progress.judgments_wanted - progress.judgments
    if missing <= 0:
        return ""
    days = course.days_left(missing)
    if days is None or course.per_day is None:
        return _("Nobody has judged anything here in the last 7 days, so there is no pace to go by.")
    pace = f"{course.per_day:.0f}" if course.per_day >= 10 else f"{course.per_day:.1f}"
    if days > 3650:
        return _("At the pace of the last days (%(pace)s a day) it would take years.") % {"pace": pace}
    when = timezone.now() + timedelta(days=days)
    text = _(
        "At the pace of the last days (%(pace)s a day) the %(n)s missing judgments come by about %(date)s. "
        "Paces change: take it as a guess."
    )
    return text % {"pace": pace, "n": f"{missing:,}", "date": f"{when:%Y-%m-%d}"}
