"""Counters of studies, tasks and raters hold regular tasks only."""

from django.db import migrations

# Of gold and training tasks that were judged before this: what the counters hold of them goes.
SQL = """
WITH votes AS (
    SELECT j.rater_id, count(*) AS n FROM annotation_judgment j JOIN annotation_task t ON t.id = j.task_id
    WHERE t.kind > 1 AND j.effective AND NOT j.excluded AND j.origin <> 4 AND j.rater_id IS NOT NULL GROUP BY j.rater_id
)
UPDATE annotation_rater r SET n_judgments = r.n_judgments - votes.n, n_checks = r.n_checks + votes.n
FROM votes WHERE votes.rater_id = r.id;
UPDATE annotation_task SET n_leases = 0 WHERE kind > 1 AND n_leases > 0;
UPDATE annotation_study s SET n_tasks = s.n_tasks - c.n
FROM (SELECT study_id, count(*) AS n FROM annotation_task WHERE kind > 1 AND state <> 3 GROUP BY study_id) AS c
WHERE c.study_id = s.id;
"""
BACK = """
UPDATE annotation_rater SET n_judgments = n_judgments + n_checks, n_checks = 0 WHERE n_checks > 0;
UPDATE annotation_study s SET n_tasks = s.n_tasks + c.n
FROM (SELECT study_id, count(*) AS n FROM annotation_task WHERE kind > 1 AND state <> 3 GROUP BY study_id) AS c
WHERE c.study_id = s.id;
"""


class Migration(migrations.Migration):
    dependencies = [("annotation", "0015_check_outcomes")]

    operations = [migrations.RunSQL(SQL, BACK)]
