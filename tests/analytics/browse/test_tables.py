"""Tables of a study's data: what each filter finds, in which order, a page at a time, and how many."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import parse_qs

import pytest

from analytics.browse import query as browse
from analytics.browse import summaries
from analytics.browse.facts import study_facts
from analytics.browse.query import Query, Selection
from analytics.browse.rows import RowContext, load_rows
from analytics.models import SummarySweep, TaskSummary
from annotation.errors import InvalidInput
from annotation.models import Assignment, Item, Judgment, Task
from annotation.raters import withdrawal
from annotation.studies import protocols
from scoring.models import Score, Scorer, ScoringRun
from tests.analytics.votes import exclude, vote, votes
from tests.factories import StudyFactory, comparison_task, rater, rating_task

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return StudyFactory(slug="s", overlap=3)


@pytest.fixture
def data(study):
    """bell: agreed, complete; dog: disputed, with codes and a comment; cat: nobody's yet, skipped once."""
    bell = rating_task(study, "bell", overlap=2)
    dog = rating_task(study, "dog", system="system-2", question="Which animal is heard?")
    cat = rating_task(study, "cat")
    Item.objects.filter(external_id="dog").update(strata={"category": "animal"})
    votes(bell, [4, 4])
    vote(dog, 1, rater=rater(study), codes=["R"], comment="It is a gong, not a dog.")
    vote(dog, 5, submitted_at=datetime(2026, 1, 2, tzinfo=UTC))
    Assignment.objects.create(
        task=cat, rater=rater(study), protocol_version=study.protocol_version, presentation=[0],
        state=Assignment.State.SKIPPED, skip_reason="silent", skip_comment="No sound at all",
        expires_at=datetime(2026, 1, 1, tzinfo=UTC), closed_at=datetime(2026, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    summaries.refresh(study.pk)
    return {"bell": bell, "dog": dog, "cat": cat}


def selection(study, table: str, asked: str = "") -> Selection:
    return Selection(study, Query.of(table, parse_qs(asked, keep_blank_values=True)), study_facts(study))


def rows(study, table: str, asked: str = "", **page):
    chosen = selection(study, table, asked)
    return load_rows(RowContext.of(study), chosen.query, chosen.page(**page).ids)


def names(study, table: str, asked: str = "", **page) -> list[str]:
    return [row.name for row in rows(study, table, asked, **page)]


OF_TASKS_AND_ITEMS = [
    ("", ["bell", "dog", "cat"]),
    ("sort=name", ["bell", "cat", "dog"]),
    ("sort=-disagreement", ["dog", "bell", "cat"]),
    ("sort=-judgments", ["dog", "bell", "cat"]),
    ("text=anim", ["dog"]),
    ("text=nothing", []),
    ("system=system-2", ["dog"]),
    ("strata.category=animal", ["dog"]),
    ("disagreement.min=0.5", ["dog"]),
    ("disagreement.max=0.5", ["bell"]),
    ("progress=complete", ["bell"]),
    ("progress=begun&progress=untouched", ["dog", "cat"]),
    ("code=R", ["dog"]),
    ("comments.min=1", ["dog"]),
    ("skips.min=1", ["cat"]),
    ("judgments.max=0", ["cat"]),
    ("mean.min=3.5", ["bell"]),
    ("kind=regular", ["bell", "dog", "cat"]),
    ("kind=gold", []),
    ("state=ready", ["bell", "dog", "cat"]),
    ("flagged=no", ["bell", "dog", "cat"]),
    ("judged.from=2020-01-01", ["bell", "dog"]),
]


@pytest.mark.parametrize("table", ["items", "tasks"])
def test_tasks_and_items_are_found_by_what_they_are_and_what_was_said(study, data, table):
    found = {}
    for asked, expected in OF_TASKS_AND_ITEMS:
        asked = asked.replace("state=ready", "state=active") if table == "items" else asked
        found[asked] = names(study, table, asked) == expected
    assert [asked for asked, right in found.items() if not right] == []


OF_JUDGMENTS = [
    ("", ["dog", "bell", "bell", "dog"]),
    ("sort=at", ["dog", "bell", "bell", "dog"]),
    ("text=animal", ["dog", "dog"]),
    ("status=counted", ["dog", "bell", "bell", "dog"]),
    ("status=excluded", []),
    ("code=R", ["dog"]),
    ("commented=yes", ["dog"]),
    ("comment=gong", ["dog"]),
    ("comment=whale", []),
    ("question=correctness&answer.min=5", ["dog"]),
    ("answer.max=1", ["dog"]),
    ("at.to=2026-01-02", ["dog"]),
    ("system=system-1", ["bell", "bell"]),
    ("disagreement.min=0.9", ["dog", "dog"]),
    ("strata.category=animal", ["dog", "dog"]),
    ("origin=imported", ["dog", "bell", "bell", "dog"]),
    ("kind=regular&state=ready", ["dog", "bell", "bell", "dog"]),
]


def test_judgments_are_found_by_what_they_say_and_what_they_are_about(study, data):
    found = {asked: names(study, "judgments", asked) for asked, _expected in OF_JUDGMENTS}
    assert found == dict(OF_JUDGMENTS)


def test_judgments_of_a_rater_and_those_that_are_excluded(study, data):
    judgment = Judgment.objects.exclude(rater=None).get()
    exclude(judgment)
    summaries.refresh(study.pk)
    assert names(study, "judgments", f"rater={judgment.rater.pseudonym}") == ["dog"]
    assert [row.values["status"] for row in rows(study, "judgments", "status=excluded")] == ["excluded"]
    assert names(study, "tasks", "excluded.min=1") == ["dog"]
    assert names(study, "tasks", "disagreement.min=0") == ["bell"]


@pytest.mark.parametrize("table", ["items", "tasks"])
def test_items_and_tasks_are_found_by_who_judged_them_until_that_rater_withdraws(study, data, table):
    both = rater(study)
    for task in (data["dog"], data["cat"]):
        vote(task, 3, rater=both)
    summaries.refresh(study.pk)
    asked = f"rater={both.pseudonym}"
    assert names(study, table, f"{asked}&sort=name") == ["cat", "dog"]
    assert names(study, table, f"{asked}&text=animal") == ["dog"]
    assert selection(study, table, asked).total().n == 2
    withdrawal.withdraw(both, mode="removed", actor=None)
    assert names(study, table, asked) == []


def test_codes_of_older_protocol_versions_are_found(study, data):
    protocol = protocols.add_protocol_version(study, preset="cmi-pref", actor=None)
    assert "R" not in [code.key for code in protocols.load_protocol(protocol.pk).spec.codes]
    assert names(study, "judgments", "code=R") == ["dog"]


def test_judgments_are_found_by_the_system_that_they_prefer(study):
    protocols.add_protocol_version(study, preset="cmi-pref", actor=None)
    vote(comparison_task(study, "tune"), question="alignment", choice=2)
    assert names(study, "judgments", "chosen=alignment:system-2") == ["tune"]
    assert names(study, "judgments", "chosen=alignment:system-1") == []


def test_a_row_says_why_raters_skipped(study, data):
    (row,) = rows(study, "tasks", "skips.min=1&columns=name,skip_reasons,skip_comments")
    assert row.values["skip_reasons"] == {"silent": 1}
    assert row.values["skip_comments"] == ["No sound at all"]


def test_scores_and_their_distance_from_people(study, data):
    scorer = Scorer.objects.create(key="orca", digest="d" * 64)
    ScoringRun.objects.create(study=study, scorer=scorer, metric="orca", state="done")
    for name, value in (("bell", 0.75), ("dog", 0.1)):
        candidate = data[name].slots.get().candidate
        Score.objects.create(scorer=scorer, candidate=candidate, value=value)
    summaries.forget(study)
    summaries.refresh(study.pk)
    digest = "d" * 64
    assert names(study, "tasks", f"scorer={digest}&score.min=0.5") == ["bell"]
    assert names(study, "items", f"scorer={digest}&score.max=0.5") == ["dog"]
    assert names(study, "judgments", f"scorer={digest}&score.min=0.5") == ["bell", "bell"]
    # People say 4 and 3 on a scale from 1 to 5, the scorer 4 and 1.4.
    assert [row.values["gap"] for row in rows(study, "tasks", "gap.min=0&sort=-gap&columns=name,gap")] == [
        0.4,
        0.0,
    ]


def test_pages_lead_to_the_end_and_back(study):
    for number in range(7):
        votes(rating_task(study, f"task-{number}"), [number % 5 + 1, 3][: number % 3])
    summaries.refresh(study.pk)
    for sort in ["", "name", "-name", "-disagreement", "judgments"]:
        asked = f"sort={sort}&state=ready"
        everything = names(study, "tasks", asked)
        chosen, forwards, page = selection(study, "tasks", asked), [], None
        while page is None or page.after:
            page = chosen.page(after=page.after if page else "", limit=3)
            forwards.append(page)
        assert [pk for page in forwards for pk in page.ids] == list(chosen.page().ids)
        assert len(everything) == 7
        back = chosen.page(before=forwards[2].before, limit=3)
        assert back.ids == forwards[1].ids
        assert chosen.page(before=back.before, limit=3).ids == forwards[0].ids


def test_a_page_is_right_whichever_way_it_is_found(study, data, monkeypatch):
    """By an index that finds few rows, in the order, by the planner's way from there on, and in the order alone."""
    exclude(Judgment.objects.filter(task=data["bell"]).first())
    Task.objects.filter(pk=data["cat"].pk).update(kind=Task.Kind.GOLD)
    summaries.refresh_tasks(study, [data["bell"].pk, data["cat"].pk])
    asked = [("items", one) for one, _ in OF_TASKS_AND_ITEMS if "state" not in one]
    asked += [("tasks", one) for one, _ in OF_TASKS_AND_ITEMS]
    asked += [("judgments", one) for one, _ in OF_JUDGMENTS]
    asked += [
        ("tasks", "kind=gold&skips.min=1"),
        ("items", "kind=gold&kind=trap"),
        ("tasks", "excluded.min=1"),
    ]
    asked += [
        ("judgments", "status=excluded"),
        ("judgments", "status=excluded&commented=no&at.from=2020-01-01"),
    ]
    found = {each: names(study, *each) for each in asked}
    assert found["tasks", "kind=gold&skips.min=1"] == found["items", "kind=gold&kind=trap"] == ["cat"]
    assert found["tasks", "excluded.min=1"] == found["judgments", "status=excluded"] == ["bell"]
    for setting, value in (("FIRST_STRETCH", 1), ("CHEAP_COST", 0.0), ("MAX_COST", 0.0)):
        monkeypatch.setattr(browse, setting, value)
        assert {each: names(study, *each) for each in asked} == found
    monkeypatch.setattr(browse, "TIME_LIMIT", 0.0)
    page = selection(study, "tasks", "judgments.max=0").page()
    assert (page.ids, page.partial) == ((), True)
    assert selection(study, "tasks", "judgments.max=0").page(after=page.after).partial


def test_counts_are_exact_as_far_as_they_are_cheap(study, data, monkeypatch):
    assert selection(study, "tasks", "judgments.min=1").total() == browse.Total(2)
    monkeypatch.setattr(browse, "COUNT_LIMIT", 1)
    assert selection(study, "tasks", "judgments.min=1").total() == browse.Total(1, more=True)
    monkeypatch.setattr(browse, "COUNT_LIMIT", 100)
    monkeypatch.setattr(browse, "MAX_COST", 0.0)
    assert selection(study, "tasks", "judgments.min=1").total() == browse.Total(2)
    monkeypatch.setattr(browse, "COUNT_STRETCH", 2)
    assert selection(study, "tasks", "judgments.min=1").total() == browse.Total(2, more=True)


REFUSED = [
    ("kind=strange", "kind"),
    ("disagreement.min=much", "disagreement.min"),
    ("judged.from=yesterday", "judged.from"),
    ("flagged=perhaps", "flagged"),
    ("sort=text", "sort"),
    ("columns=name,nonsense", "columns"),
    ("system=unknown", "system"),
    ("score.min=1", "scorer"),
]


def test_what_cannot_be_asked_is_refused_by_name(study, data):
    for asked, field in REFUSED:
        with pytest.raises(InvalidInput) as refused:
            selection(study, "tasks", asked)
        assert [problem.field for problem in refused.value.problems] == [field]


def test_summaries_follow_what_changes(study, data):
    vote(data["cat"], 3)
    Task.objects.filter(pk=data["bell"].pk).update(kind=Task.Kind.GOLD)
    summaries.refresh(study.pk)
    assert sorted(names(study, "tasks", "judgments.min=1")) == ["bell", "cat", "dog"]
    summaries.refresh_tasks(study, [data["bell"].pk])
    assert names(study, "tasks", "kind=gold") == ["bell"]


def test_a_row_that_moves_while_a_file_is_written_is_in_it_once(study, data):
    chunks = selection(study, "tasks", "sort=judgments").all_ids(chunk=1)
    found = next(chunks)
    votes(data["cat"], [3, 3, 3])
    summaries.refresh(study.pk)
    assert [*found, *(pk for chunk in chunks for pk in chunk)] == [
        data[name].pk for name in ("cat", "bell", "dog")
    ]


def test_tables_that_another_process_is_making_say_how_old_they_are(study, data, monkeypatch):
    SummarySweep.objects.update(swept_at=datetime(2026, 1, 1, tzinfo=UTC))
    vote(data["cat"], 3)
    monkeypatch.setattr(summaries, "refresh", lambda _study_id: False)
    assert summaries.freshen(study) == summaries.Freshness(datetime(2026, 1, 1, tzinfo=UTC), working=True)


def test_two_studies_do_not_see_each_other(study, data):
    other = StudyFactory(slug="other")
    votes(rating_task(other, "whale", question="What is heard? An animal."), [1, 5])
    summaries.refresh(other.pk)
    for table in ("items", "tasks"):
        assert names(study, table, "text=animal") == ["dog"]
        assert names(other, table, "") == ["whale"]
    assert set(names(other, "judgments")) == {"whale"}


def test_what_a_withdrawn_rater_wrote_when_skipping_is_in_no_row(study, data):
    withdrawal.withdraw(Assignment.objects.get().rater, mode="removed", actor=None)
    for table in ("items", "tasks"):
        (row,) = rows(study, table, "skips.min=1&columns=name,skip_reasons,skip_comments")
        assert (row.values["skip_reasons"], row.values["skip_comments"]) == ({}, [])


ODD_CURSORS = ["x", "--5~", "5~much", "5~nan~", "٣~1", "99999999999999999999~1"]


@pytest.mark.parametrize(
    ("table", "sort"), [("tasks", "judgments"), ("tasks", "disagreement"), ("judgments", "at")]
)
def test_a_page_that_is_not_there_is_refused(study, data, table, sort):
    for cursor in ODD_CURSORS:
        for way in ("after", "before"):
            with pytest.raises(InvalidInput, match="not there"):
                selection(study, table, f"sort={sort}").page(**{way: cursor})


def test_from_an_empty_page_the_way_back_loses_no_row(study, data):
    """What a page ended with may go before the next is opened."""
    for sort in ("", "name", "-name", "-judgments"):
        chosen = selection(study, "tasks", f"sort={sort}")
        ids = chosen.page().ids
        last = chosen.page(before=chosen.page(after=chosen.page(limit=1).after, limit=1).after, limit=1)
        assert last.ids == ids[:1]
        beyond = browse._write_cursor((ids[-1], _sorted_value(chosen, ids[-1])))
        empty = chosen.page(after=beyond)
        assert (empty.ids, chosen.page(before=empty.before).ids) == ((), ids)
        first = browse._write_cursor((ids[0], _sorted_value(chosen, ids[0])))
        empty = chosen.page(before=first)
        assert (empty.ids, chosen.page(after=empty.after).ids) == ((), ids)


def _sorted_value(chosen: Selection, pk: int) -> str:
    found = TaskSummary.objects.get(pk=pk)
    return str({"name": found.name, "judgments": found.n_judgments}.get(chosen.query.sort.lstrip("-"), ""))


def test_a_search_for_signs_finds_nothing_by_saying_so(study, data):
    for table, asked in (("items", "text=!%3F"), ("tasks", "text=%25"), ("judgments", "comment=—")):
        with pytest.raises(InvalidInput) as refused:
            selection(study, table, asked)
        assert [problem.field for problem in refused.value.problems] == [asked.partition("=")[0]]
