"""A study of a million tasks and five million responses: how long its pages and the API's lists take to come.

    python benchmarks/pages.py [--tasks 1000000] [--responses 5000000] [--repeats 20]

Everything is made inside PostgreSQL, in a database of its own. Pages are asked for in this process, with their views,
templates and queries and without a socket; lists on their first page and deep inside. The bar is 500 ms at p95.
Beside what a clock shows, which other work on the machine lengthens, stands the processor's time: `cpu_p50` and
`cpu_p95` of this process, and `database_cpu`, the mean of what its connection's server process took.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import harness

TARGET_MS = 500
RATERS = 2000
_JUDGE = """
INSERT INTO annotation_judgment
    (study_id, task_id, rater_id, protocol_version_id, client_id, payload_sha256, origin, revision, effective, excluded,
     surplus, codes, comment, submitted_at)
SELECT %(study)s, t.id, (%(raters)s::bigint[])[1 + (t.id * 31 + n * 7) %% %(n_raters)s], %(protocol)s,
       gen_random_uuid(), '', 1, 1, true, (t.id + n) %% 500 = 0, false, '{}', '', now()
FROM annotation_task t CROSS JOIN generate_series(1, %(each)s) n WHERE t.study_id = %(study)s
"""
_ANSWER = """
INSERT INTO annotation_answer (judgment_id, task_id, question_id, value, text, counted)
SELECT j.id, j.task_id, %(question)s, 1 + (j.id * 7) %% 5, '', NOT j.excluded
FROM annotation_judgment j WHERE j.study_id = %(study)s
"""
# Counters as submits would have left them.
_COUNTERS = """
UPDATE annotation_rater r SET n_judgments = c.n, n_tasks_filled = c.n / %(each)s, last_judgment_at = now()
FROM (SELECT rater_id, count(*) n FROM annotation_judgment WHERE study_id = %(study)s AND NOT excluded GROUP BY 1) c
WHERE c.rater_id = r.id
"""
_EXCLUSIONS = """
INSERT INTO annotation_exclusion (study_id, judgment_id, action, reason, comment, created_at)
SELECT study_id, id, 'exclude', 'careless', '', now() FROM annotation_judgment WHERE study_id = %(study)s AND excluded
"""
_CASES = """
INSERT INTO annotation_reviewcase
    (study_id, item_id, item_version_id, task_id, state, decision, priority, rules, n_returns, comment, created_at)
SELECT i.study_id, i.id, i.current_version_id, t.id, 'open', '', round((random() * 2)::numeric, 2),
       ARRAY['codes', 'disagreement'], 0, '', now()
FROM annotation_item i JOIN annotation_task t ON t.item_version_id = i.current_version_id
WHERE i.study_id = %(study)s AND i.id %% 10 = 0
"""
# Half of the items have none, and these are the first: whoever looks for strata from the beginning passes all of them.
_STRATA = """
UPDATE annotation_item SET strata = jsonb_build_object(
    'category', (ARRAY['music', 'speech', 'sound'])[1 + id %% 3], 'difficulty', (1 + id %% 5)::text)
WHERE study_id = %(study)s AND id > (SELECT (min(id) + max(id)) / 2 FROM annotation_item WHERE study_id = %(study)s)
"""
_AUDIT = """
INSERT INTO annotation_auditevent (at, study_id, action, subject, data)
SELECT now(), %(study)s, 'case.claimed', 'case ' || n, '{"n": 1}' FROM generate_series(1, %(n)s) n
"""
_JOBS = """
INSERT INTO annotation_job (id, kind, study_id, state, params, stage, done, report, message, attempts, created_at)
SELECT gen_random_uuid(), (ARRAY['import', 'flag'])[1 + n %% 2], %(study)s, 'done', '{}', '', 0,
       '{}', '', 1, now() - n * interval '1 second'
FROM generate_series(1, 20000) n
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--responses", type=int, default=5_000_000)
    parser.add_argument("--repeats", type=int, default=20, help="of each page")
    parser.add_argument(
        "--figures", action="store_true", help="also compute the study's figures, as a worker does"
    )
    arguments = parser.parse_args()
    harness.scratch_installation()
    from django.core.management import call_command

    call_command("collectstatic", interactive=False, verbosity=0)
    began = time.monotonic()
    study, person = make(arguments.tasks, max(1, arguments.responses // arguments.tasks))
    made = time.monotonic() - began
    print(f"made in {made:.0f} s", file=sys.stderr)
    figures: dict[str, Any] = {
        "tasks": arguments.tasks,
        "responses": arguments.responses,
        "seconds_to_make": made,
    }
    if arguments.figures:
        figures["seconds_of_figures"] = compute(study)
    figures["pages"] = measure(study, person, arguments.repeats)
    targets = {
        f"{path}: p95, ms": (found["p95"], TARGET_MS, "<=") for path, found in figures["pages"].items()
    }
    harness.finish("pages and lists come fast however large a study is", figures, targets)


def make(n: int, each: int) -> tuple[Any, Any]:
    from django.db import connection

    from annotation.models import Question, Rater, Study, User
    from annotation.models.people import Role
    from benchmarks import study_rows

    study = study_rows.make_study("pages", n_tasks=n, overlap=each)
    study_rows.make_raters(study, 1, role=Role.RESEARCHER)
    people = Rater.objects.bulk_create(Rater(study=study, origin="imported") for _ in range(RATERS))
    question = Question.objects.get(protocol_version=study.protocol_version, key="correctness")
    values = {
        "study": study.pk, "protocol": study.protocol_version_id, "question": question.pk, "each": each,
        "raters": [one.pk for one in people], "n_raters": RATERS, "n": n,
    }  # fmt: skip
    with connection.cursor() as cursor:
        # The bookkeeping triggers and the checks of keys would take an hour, and these rows are right.
        cursor.execute("SET session_replication_role = replica")
        for sql in (_JUDGE, _ANSWER, _COUNTERS, _EXCLUSIONS, _STRATA, _CASES, _AUDIT, _JOBS):
            cursor.execute(sql, values)
        cursor.execute(
            "UPDATE annotation_task SET n_judgments = %s WHERE study_id = %s AND id %% 10 <> 0",
            [each, study.pk],
        )
        cursor.execute("SET session_replication_role = origin")
        cursor.execute("VACUUM ANALYZE")
    Study.objects.filter(pk=study.pk).update(n_items=n)
    study_rows.settle(seconds=30)
    return study, User.objects.get(email="pages-0@example.org")


def compute(study: Any) -> float:
    from analytics.overview import figures

    began = time.monotonic()
    figures.recompute_figures(study.pk)
    return round(time.monotonic() - began, 1)


def paths(study: Any) -> dict[str, str]:
    """By the name that a figure goes by: the first page of each list, and one nine tenths down."""
    from annotation.models import AuditEvent, Exclusion, Item, Job, Judgment, Rater, ReviewCase, Task

    def deep(rows: Any, key: str = "pk", share: float = 0.9) -> Any:
        first, last = rows.order_by(key).values_list(key, flat=True).first(), rows.order_by(key).last()
        return int(first + share * (getattr(last, key) - first))

    of_study = {"study": study}
    api = "/api/v1/studies/pages/"
    after = {
        "items": deep(Item.objects.filter(**of_study)),
        "tasks": deep(Task.objects.filter(**of_study)),
        "judgments": deep(Judgment.objects.filter(**of_study)),
        "raters": deep(Rater.objects.filter(**of_study)),
        "audit": deep(AuditEvent.objects.filter(**of_study), share=0.1),
        "exclusions": deep(Exclusion.objects.all(), share=0.1),
    }
    cases = ReviewCase.objects.filter(study=study).order_by("-priority", "id").values_list("pk", flat=True)
    case = cases[int(0.9 * cases.count())]
    jobs = Job.objects.filter(study=study).order_by("-created_at").values_list("pk", flat=True)
    item = Item.objects.filter(study=study)[0].pk
    rater = Rater.objects.filter(study=study, n_judgments__gt=0)[0].pseudonym
    found = {
        name: f"{api}{name}/" for name in (*after, "members", "corrections", "scoring-runs", "learned-models")
    }
    found |= {f"{name}, deep": f"{api}{name}/?after={key}" for name, key in after.items()}
    found |= {
        "jobs": f"{api}jobs/", "jobs, deep": f"{api}jobs/?after={jobs[18_000]}", "study": api,
        "jobs, one kind": f"{api}jobs/?kind=learned_comparison", "comparisons": f"{api}comparisons/",
        "overview": f"{api}overview/", "rater": f"{api}raters/{rater}/", "item": f"{api}items/{item}/",
        "item history": f"{api}items/{item}/history/", "review": f"{api}review/", "scorers": f"{api}scorers/",
        "review, deep": f"{api}review/?after={case}", "case": f"/api/v1/review-cases/{case}/",
        "writers": f"{api}writers/", "plan": f"{api}plan/", "page: home": "/",
    }  # fmt: skip
    pages = {
        "study": "", "queue": "review/", "queue, deep": f"review/?after={case}", "rater": f"raters/{rater}/",
        "people": "people/", "history": f"items/{item}/history/", "import": "import/", "export": "export/",
        "settings": "settings/", "models": "models/", "new run": "models/new/?metric=word-count", "plan": "plan/",
        "writers": "writers/", "report": "report/", "review report": "review/report/", "rules": "review/rules/",
    }  # fmt: skip
    pages["history"] = f"items/{item}/"
    return found | {f"page: {name}": f"/studies/pages/{path}" for name, path in pages.items()}


def measure(study: Any, person: Any, repeats: int) -> dict[str, Any]:
    from django.test import Client

    import config.wsgi  # noqa: F401  (as the web server's processes begin: with all views, and nothing of them garbage)

    client = Client(headers={"host": "localhost"})
    client.force_login(person)
    figures = {}
    for name, path in paths(study).items():
        ask(client, path)  # the first one opens what the others use
        asked_before = database_cpu()
        taken = [ask(client, path) for _ in range(repeats)]
        of_cpu = harness.percentiles([cpu for _, cpu in taken])
        figures[name] = {
            **harness.percentiles([wall for wall, _ in taken]),
            "cpu_p50": of_cpu["p50"],
            "cpu_p95": of_cpu["p95"],
            "database_cpu": round(1000 * (database_cpu() - asked_before) / repeats, 1),
        }
        print(f"{name}: {figures[name]}", file=sys.stderr)
    return figures


def ask(client: Any, path: str) -> tuple[float, float]:
    """Seconds by the clock and of this process, to the last byte of the answer."""
    began, worked = time.perf_counter(), time.process_time()
    response = client.get(path)
    body = b"".join(response) if response.streaming else response.content
    taken = time.perf_counter() - began, time.process_time() - worked
    if response.status_code != 200:
        raise SystemExit(f"{path} answered {response.status_code}: {body[:300]!r}")
    return taken


def database_cpu() -> float:
    """Seconds that the server process of this connection has worked; the kernel counts them in hundredths."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        times = psutil.Process(cursor.fetchone()[0]).cpu_times()
    return times.user + times.system


if __name__ == "__main__":
    main()
