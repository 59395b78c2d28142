"""The queue as it is read: filters, order, pages, counts; and views of it that are kept."""

from __future__ import annotations

import pytest

from annotation.errors import InvalidInput, NotAllowed, NotFound
from annotation.models import Item, ReviewCase
from annotation.services import case_queue, review_views
from annotation.services.case_queue import Filters
from tests import factories
from tests.annotation.services.reviewing import case

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return factories.StudyFactory()


@pytest.fixture
def expert(study):
    return factories.member(study, "expert", name="Ada", email="ada@example.org")


def queued(study, name: str, **fields) -> ReviewCase:
    return case(factories.rating_task(study, name), **fields)


def names(page: case_queue.Page) -> list[str]:
    return [row.external_id for row in page.rows]


class TestPages:
    def test_cases_come_by_priority_then_by_age_and_every_page_follows_the_last(self, study, expert):
        for name, priority in (("b", 1), ("a", 2), ("c", 1), ("d", 1), ("e", 0.5)):
            queued(study, name, priority=priority)
        first = case_queue.page(study, Filters(), reader=expert, limit=2)
        second = case_queue.page(study, Filters(), reader=expert, limit=2, after=first.next_after)
        third = case_queue.page(study, Filters(), reader=expert, limit=2, after=second.next_after)
        assert [names(page) for page in (first, second, third)] == [["a", "b"], ["c", "d"], ["e"]]
        assert third.next_after is None

    def test_a_page_is_four_queries_at_most(self, study, expert, django_assert_num_queries):
        last, *_ = (queued(study, name) for name in "abc")
        with django_assert_num_queries(2):
            case_queue.page(study, Filters(), reader=expert)
        with django_assert_num_queries(4):
            case_queue.page(study, Filters(), reader=expert, after=last.pk)

    def test_a_page_after_a_case_that_is_not_there_is_refused(self, study, expert):
        elsewhere = queued(factories.StudyFactory(), "a")
        with pytest.raises(InvalidInput) as error:
            case_queue.page(study, Filters(), reader=expert, after=elsewhere.pk)
        assert error.value.problems[0].field == "after"

    def test_a_row_tells_who_is_at_it_and_no_more_of_the_votes_than_rules(self, study, expert):
        queued(study, "a", state="claimed", claimed_by=expert, rules=("codes", "audit"), priority=0.875)
        (row,) = case_queue.page(study, Filters(state="claimed"), reader=expert).rows
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
        assert set(names(case_queue.page(study, Filters.of(given), reader=expert))) == expected

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
            Filters.of(given)
        assert [problem.field for problem in error.value.problems] == [field]

    def test_they_survive_an_address_and_a_saved_view(self):
        filters = Filters(state="unresolved", rule="audit", text="bell", strata={"modality": "music"})
        assert Filters.of(filters.as_query()) == Filters.of(filters.as_json()) == filters

    def test_counts_are_by_state_and_stop_counting(
        self, study, expert, django_assert_num_queries, monkeypatch
    ):
        with django_assert_num_queries(1):
            found = case_queue.counts(study, reader=expert)
        assert found == case_queue.Counts(open=3, claimed=1, returned=1, resolved=1, mine=1)
        monkeypatch.setattr(case_queue, "COUNTED_TO", 2)
        assert case_queue.counts(study, reader=expert).open == 2


class TestViews:
    def test_ones_own_and_shared_ones_are_listed_and_saving_again_replaces(self, study, expert):
        other = factories.member(study, "expert")
        review_views.save(expert, study.slug, name="Audits ", filters=Filters(rule="audit"))
        review_views.save(expert, study.slug, name="Audits", filters=Filters(rule="audit", state="returned"))
        review_views.save(other, study.slug, name="Theirs", filters=Filters(), shared=False)
        review_views.save(other, study.slug, name="All", filters=Filters(), shared=True)
        found = review_views.of(expert, study.slug)
        assert [view.name for view in found] == ["All", "Audits"]
        assert Filters.of(found[1].filters) == Filters(rule="audit", state="returned")

    def test_a_name_is_needed(self, study, expert):
        for name in (" ", "x" * 81):
            with pytest.raises(InvalidInput):
                review_views.save(expert, study.slug, name=name, filters=Filters())

    def test_others_views_are_not_ones_own_to_delete_but_those_who_run_the_study_may(self, study, expert):
        other, researcher = factories.member(study, "expert"), factories.member(study, "researcher")
        shared = review_views.save(expert, study.slug, name="All", filters=Filters(), shared=True)
        private = review_views.save(expert, study.slug, name="Mine", filters=Filters())
        for who, view in ((other, shared), (researcher, private)):
            with pytest.raises(NotFound):
                review_views.delete(who, study.slug, view.pk)
        review_views.delete(researcher, study.slug, shared.pk)
        review_views.delete(expert, study.slug, private.pk)
        assert review_views.of(expert, study.slug) == []

    def test_raters_have_none(self, study):
        with pytest.raises(NotAllowed):
            review_views.of(factories.member(study), study.slug)
