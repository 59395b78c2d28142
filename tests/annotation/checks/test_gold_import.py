"""Gold and training tasks by columns of an import."""

from __future__ import annotations

import pytest

from annotation.checks.expected import keyed_questions
from annotation.importing.formats.columns import Cells, read_keys
from annotation.models import GoldKey, Job, JobProblem, Study, Task
from annotation.studies.protocols import load_protocol
from tests import factories
from tests.annotation.importing.importing import bring

pytestmark = pytest.mark.django_db
HEAD = "item_id,question_text,reference,system,answer,check,expected.correctness\n"


@pytest.fixture
def study() -> Study:
    return factories.StudyFactory()


def test_a_column_of_expected_answers_makes_gold_and_training_tasks(study, tmp_path):
    source = tmp_path / "x.csv"
    source.write_text(HEAD + "i1,Q,R,s,Yes,,\ni2,Q,R,s,Yes,,4 ± 1\ni3,Q,R,s,No,training,1\n")
    bring(study, source)
    kinds = dict(Task.objects.values_list("item_version__item__external_id", "kind"))
    assert kinds == {"i1": Task.Kind.REGULAR, "i2": Task.Kind.GOLD, "i3": Task.Kind.TRAINING}
    assert list(GoldKey.objects.order_by("pk").values_list("value", "tolerance")) == [(4, 1), (1, 0)]
    study.refresh_from_db()
    assert study.n_tasks == 1


def test_expected_sides_are_those_of_the_columns_whatever_order_the_systems_have():
    spec = load_protocol(factories.StudyFactory(preset="music-arena").protocol_version_id).spec
    key = keyed_questions(spec)[0].key
    for order, choice in (([0, 1], 1), ([1, 0], 2)):
        cells = Cells("1", {f"expected.{key}": "A"})
        assert read_keys(cells, spec, order)[1][0]["choice"] == choice


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("i1,Q,R,s,Yes,,6", "6 is not on the scale of correctness"),
        ("i1,Q,R,s,Yes,trap,4", "'trap' is no kind of check"),
        ("i1,Q,R,s,Yes,gold,", "expects no answer"),
    ],
)
def test_an_answer_that_the_protocol_does_not_have_keeps_the_import_out(study, tmp_path, row, problem):
    source = tmp_path / "x.csv"
    source.write_text(HEAD + row + "\n")
    job = bring(study, source)
    assert job.state == Job.State.FAILED
    assert problem in JobProblem.objects.get().problem
    assert not Task.objects.exists()
