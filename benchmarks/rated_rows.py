"""A study with millions of ratings, made inside PostgreSQL."""

from __future__ import annotations

from django.db import connection

from annotation.models import Question, Rater, Study

_JUDGE = """
INSERT INTO annotation_judgment
    (study_id, task_id, rater_id, protocol_version_id, client_id, payload_sha256, origin, revision, effective, excluded,
     surplus, codes, comment, submitted_at)
SELECT %(study)s, t.id, (%(raters)s::bigint[])[1 + (t.id * 31 + n * 7) %% %(n_raters)s], %(protocol)s,
       gen_random_uuid(), '', 1, 1, true, false, false, '{}', '', now()
FROM annotation_task t CROSS JOIN generate_series(1, 4) n
WHERE t.study_id = %(study)s AND n <= 3 + (t.id %% 3 = 0)::int
"""

# Six in ten ratings say what is true of their task; the others anything.
_ANSWER = """
INSERT INTO annotation_answer (judgment_id, task_id, question_id, value, text, counted)
SELECT j.id, j.task_id, %(question)s,
       CASE WHEN random() < 0.6 THEN 1 + j.task_id %% 5 ELSE 1 + floor(random() * 5) END, '', true
FROM annotation_judgment j WHERE j.study_id = %(study)s
"""


def rate(study: Study, *, raters: int) -> int:
    """Ten ratings of 1 to 5 for every three tasks of an `orca` study, by raters in turn; how many there are."""
    people = Rater.objects.bulk_create(Rater(study=study, origin="simulated") for _ in range(raters))
    question = Question.objects.get(protocol_version=study.protocol_version, key="correctness")
    with connection.cursor() as cursor:
        cursor.execute("SELECT setseed(0.5)")
        # The bookkeeping triggers and the checks of keys would take an hour, and these rows are right.
        cursor.execute("SET session_replication_role = replica")
        told = {"study": study.pk, "protocol": study.protocol_version_id, "question": question.pk}
        cursor.execute(_JUDGE, {**told, "raters": [one.pk for one in people], "n_raters": raters})
        cursor.execute(_ANSWER, told)
        ratings = cursor.rowcount
        cursor.execute("SET session_replication_role = origin")
        cursor.execute("VACUUM ANALYZE annotation_judgment, annotation_answer")
    return ratings
