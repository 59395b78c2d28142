"""The queue as it is read: filters, order, pages, counts; and views of it that are kept."""

from __future__ import annotations

import pytest

from annotation.errors import InvalidInput, NotAllowed, NotFound
from annotation.models import Item, ReviewCase
from annotation.review import queue
from annotation.review.queue import QueueFilters
from tests import factories
from tests.annotation.importing.reviewing import case

pytestmark = pytest.mark.django_db


def queued(study, name: str, **fields) -> ReviewCase:
    return case(factories.rating_task(study, name), **fields)


def names(page: queue.QueuePage) -> list[str]:
    return [row.external_id for row in page.rows]


class TestPages:
    def test_cases_come_by_priority_then_by_age_and_every_page_follows_the_last(self, study, expert):
        for name, priority in (("b", 1), ("a", 2), ("c", 1), ("d", 1), ("e", 0.5)):
            queued(study, name, priority=priority)
        first = queue.queue_page(study, QueueFilters(), reader=expert, limit=2)
        second = queue.queue_page(study, QueueFilters(), reader=expert, limit=2, after=first.next_after)
        third = queue.queue_page(study, QueueFilters(), reader=expert, limit=2, after=second.next_after)
        assert [names(page) for page in (first, second, third)] == [["a", "b"], ["c", "d"], ["e"]]
        assert third.next_after is None

    def test_a_page_is_four_queries_at_most(self, study, expert, django_assert_num_queries):
        last, *_ = (queued(study, name) for name in "abc")
        with django_assert_num_queries(2):
            queue.queue_page(study, QueueFilters(), reader=expert)
        with django_assert_num_queries(4):
            queue.queue_page(study, QueueFilters(), reader=expert, after=last.pk)

    def test_a_page_after_a_case_that_is_not_there_is_refused(self, study, expert):
        elsewhere = queued(factories.StudyFactory(), "a")
        with pytest.raises(InvalidInput) as error:
            queue.queue_page(study, QueueFilters(), reader=expert, after=elsewhere.pk)
        assert error.value.problems[0].field == "after"

    def test_a_row_tells_who_is_at_it_and_no_more_of_the_votes_than_rules(self, study, expert):
        queued(study, "a", state="claimed", claimed_by=expert, rules=("codes", "audit"), priority=0.875)
        (row,) = queue.queue_page(study, QueueFilters(state="claimed"), reader=expert).rows
        assert (row.claimed_by, row.is_mine, row.rules) == ("Ada", True, ("codes", "audit"))
        assert row.title == "What is heard in a?"
        assert not hasattr(row, "priority")


class TestFilters:
    @pytest.fixture(autouse=True)
    def _cases(self, study, expert):
        task = factories.rating_task(study, "plain", question="Was hört ein Hund?")
        case(task, rules=("codes",))
        queued(study, "audited", rules=("codes", "audit"), assigned_to=expert)
        queued(study, "music", rules=("codes",))
        Item.objects.filter(external_id="music").update(strata={"modality": "music", "split": "dev"})
        queued(study, "done", state="resolved", decision="fine")
        queued(study, "back", state="returned")
        queued(study, "at-work", state="claimed", claimed_by=expert)

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ({}, {"plain", "audited", "music"}),
            ({"state": "unresolved"}, {"plain", "audited", "music", "back", "at-work"}),
            ({"state": "resolved"}, {"done"}),
            ({"rule": "audit"}, {"audited"}),
            ({"assigned": "me"}, {"audited"}),
            ({"assigned": "nobody"}, {"plain", "music"}),
            ({"assigned": "Ada@example.org"}, {"audited"}),
            ({"strata.modality": "music", "page": "2"}, {"music"}),
            ({"strata": {"modality": "music", "split": "test"}}, set()),
            ({"text": "HEARD in mus"}, {"music"}),
            ({"text": "100%"}, set()),
            ({"text": "hört EIN"}, {"plain"}),
        ],
    )
    def test_each_lets_through_what_it_names(self, study, expert, given, expected):
        assert set(names(queue.queue_page(study, QueueFilters.of(given), reader=expert))) == expected

    @pytest.mark.parametrize(
        ("given", "field"),
        [
            ({"state": "lost"}, "state"),
            ({"rule": "mood"}, "rule"),
            ({"text": "x" * 201}, "text"),
            ({"strata": "music"}, "strata"),
        ],
    )
    def test_what_cannot_be_asked_is_named(self, given, field):
        with pytest.raises(InvalidInput) as error:
            QueueFilters.of(given)
        assert [problem.field for problem in error.value.problems] == [field]

    def test_they_survive_an_address_and_a_saved_view(self):
        filters = QueueFilters(state="unresolved", rule="audit", text="bell", strata={"modality": "music"})
        assert QueueFilters.of(filters.as_query()) == QueueFilters.of(filters.as_json()) == filters

    def test_counts_are_by_state_and_stop_counting(
        self, study, expert, django_assert_num_queries, monkeypatch
    ):
        with django_assert_num_queries(1):
            found = queue.queue_counts(study, reader=expert)
        assert found == queue.QueueCounts(open=3, claimed=1, returned=1, resolved=1, mine=1)
        monkeypatch.setattr(queue, "COUNT_LIMIT", 2)
        assert queue.queue_counts(study, reader=expert).open == 2


class TestViews:
    def test_ones_own_and_shared_ones_are_listed_and_saving_again_replaces(self, study, expert):
        other = factories.member(study, "expert")
        queue.save_view(expert, study.slug, name="Audits ", filters=QueueFilters(rule="audit"))
        queue.save_view(
            expert, study.slug, name="Audits", filters=QueueFilters(rule="audit", state="returned")
        )
        queue.save_view(other, study.slug, name="Theirs", filters=QueueFilters(), shared=False)
        queue.save_view(other, study.slug, name="All", filters=QueueFilters(), shared=True)
        found = queue.visible_views(expert, study.slug)
        assert [view.name for view in found] == ["All", "Audits"]
        assert QueueFilters.of(found[1].filters) == QueueFilters(rule="audit", state="returned")

    def test_a_name_is_needed(self, study, expert):
        for name in (" ", "x" * 81):
            with pytest.raises(InvalidInput):
                queue.save_view(expert, study.slug, name=name, filters=QueueFilters())

    def test_others_views_are_not_ones_own_to_delete_but_those_who_run_the_study_may(self, study, expert):
        other, researcher = factories.member(study, "expert"), factories.member(study, "researcher")
        shared = queue.save_view(expert, study.slug, name="All", filters=QueueFilters(), shared=True)
        private = queue.save_view(expert, study.slug, name="Mine", filters=QueueFilters())
        for who, view in ((other, shared), (researcher, private)):
            with pytest.raises(NotFound):
                queue.delete_view(who, study.slug, view.pk)
        queue.delete_view(researcher, study.slug, shared.pk)
        queue.delete_view(expert, study.slug, private.pk)
        assert queue.visible_views(expert, study.slug) == []

    def test_raters_have_none(self, study):
        with pytest.raises(NotAllowed):
            queue.visible_views(factories.member(study), study.slug)
