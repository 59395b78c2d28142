"""A review queue of 100,000 open cases: how long experts wait for a page of it, under each filter, and for a case.

    python -m benchmarks.review_queue [--cases 100000] [--repeats 40] [--port 8196]

Client, server and PostgreSQL share the machine. Pages are measured as the service answers and over HTTP as a browser
asks; `claim_next` with one connection and with eight at once.
"""

from __future__ import annotations

import argparse
import http.client
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlencode

from benchmarks import harness

TARGET_MS = 300
# Priorities are sums of a few weights: many cases share one. One case in 5,000 has the rare rule and stratum.
_CASES = """
INSERT INTO annotation_reviewcase
    (study_id, item_id, item_version_id, task_id, state, decision, priority, rules, n_returns, comment, created_at,
     assigned_to_id)
SELECT i.study_id, i.id, i.current_version_id, t.id, 'open', '', round((random() * 2)::numeric, 2),
       CASE WHEN i.id %% 5000 = 0 THEN ARRAY['failed_gold', 'codes']
            WHEN i.id %% 3 = 0 THEN ARRAY['codes', 'disagreement']
            WHEN i.id %% 3 = 1 THEN ARRAY['disagreement'] ELSE ARRAY['audit'] END,
       0, '', now(), CASE i.id %% 20 WHEN 0 THEN %(me)s::bigint WHEN 1 THEN %(other)s::bigint END
FROM annotation_item i JOIN annotation_task t ON t.item_version_id = i.current_version_id
WHERE i.study_id = %(study)s
"""
_REASONS = """
INSERT INTO annotation_casereason (case_id, rule, evidence, fired_at)
SELECT id, unnest(rules), '{"strength": 0.5}', now() FROM annotation_reviewcase WHERE study_id = %(study)s
"""
_STRATA = """
UPDATE annotation_item SET strata = jsonb_build_object(
    'category', CASE WHEN id %% 5000 = 0 THEN 'rare' ELSE (ARRAY['music', 'speech', 'sound'])[1 + id %% 3] END)
WHERE study_id = %(study)s
"""
VIEWS: dict[str, dict[str, str]] = {
    "all open": {},
    "unresolved": {"state": "unresolved"},
    "resolved (none)": {"state": "resolved"},
    "rule: disagreement": {"rule": "disagreement"},
    "rule: rare": {"rule": "failed_gold"},
    "rule: none": {"rule": "unannotated"},
    "assigned: me": {"assigned": "me"},
    "assigned: nobody": {"assigned": "nobody"},
    "assigned: other": {"assigned": "queue-1@example.org"},
    "stratum: music": {"strata.category": "music"},
    "stratum: rare": {"strata.category": "rare"},
    "text: in all": {"text": "what is heard"},
    "text: one": {"text": "in item-77777?"},
    "text: nowhere": {"text": "no such words"},
    "rule, stratum and text": {"rule": "disagreement", "strata.category": "music", "text": "item-99"},
}


def main() -> None:
    arguments = harness.options(__doc__, cases=100_000, repeats=40, port=8196)
    home = harness.scratch_installation(static=True)
    study, cookie = make_queue(arguments.cases)
    with harness.web_server(arguments.port, log=home / "web.log"):
        try:
            figures = measure(study, cookie, arguments)
        except SystemExit:
            print((home / "web.log").read_text(errors="replace")[-4000:], file=sys.stderr)
            raise
    targets: harness.Targets = {
        f"{part} {name}: p95, ms": (times["p95"], TARGET_MS, "<=")
        for part in ("page", "http")
        for name, times in figures[part].items()
    }
    targets |= {
        f"claim_next, {name}: p95, ms": (times["p95"], TARGET_MS, "<=")
        for name, times in figures["claim_next"].items()
    }
    harness.finish("experts are served fast from a queue of many open cases", figures, targets)


def make_queue(n: int) -> tuple[Any, str]:
    from django.db import connection

    from annotation.models import User
    from annotation.models.people import Role
    from benchmarks import study_rows

    study = study_rows.make_study("queue", n_tasks=n, overlap=3)
    cookie = study_rows.make_raters(study, 10, role=Role.EXPERT)[0]
    people = {f"queue-{i}": User.objects.get(email=f"queue-{i}@example.org").pk for i in range(2)}
    with connection.cursor() as cursor:
        values = {"study": study.pk, "me": people["queue-0"], "other": people["queue-1"]}
        for sql in (_STRATA, _CASES, _REASONS):
            cursor.execute(sql, values)
        cursor.execute("VACUUM ANALYZE")
    study_rows.settle()
    return study, cookie


def measure(study: Any, cookie: str, arguments: argparse.Namespace) -> dict[str, Any]:
    from annotation.models import ReviewCase, User
    from annotation.review import queue
    from annotation.review.queue import QueueFilters

    reader = User.objects.get(email="queue-0@example.org")
    order = ReviewCase.objects.filter(study=study, state="open").order_by("-priority", "id")
    deep = order.values_list("pk", flat=True)[int(arguments.cases * 0.9)]
    pages: dict[str, tuple[dict[str, str], int | None]] = {name: (view, None) for name, view in VIEWS.items()}
    pages |= {"deep page": ({}, deep), "deep page, rule: rare": ({"rule": "failed_gold"}, deep)}
    figures: dict[str, Any] = {"cases": arguments.cases, "page": {}, "http": {}}
    for name, (view, after) in pages.items():
        filters = QueueFilters.of(view)
        figures["page"][name] = timed(
            lambda f=filters, a=after: queue.queue_page(study, f, reader=reader, after=a),  # type: ignore[misc]
            repeats=arguments.repeats,
        )
        query = urlencode(view | ({"after": str(after)} if after else {}))
        client = http.client.HTTPConnection("127.0.0.1", arguments.port)
        path = f"/studies/{study.slug}/review/?{query}"
        print(name, figures["page"][name], file=sys.stderr)
        figures["http"][name] = timed(
            lambda c=client, p=path: get(c, p, cookie),  # type: ignore[misc]
            repeats=arguments.repeats,
        )
    figures["counts"] = timed(lambda: queue.queue_counts(study, reader=reader), repeats=arguments.repeats)
    figures["claim_next"] = {f"{n} at once": claims(study, n_experts=n) for n in (1, 8)}
    return figures


def timed(work: Callable[[], Any], *, repeats: int) -> dict[str, float]:
    work()  # connections opened, statements prepared
    return harness.percentiles([harness.seconds_of(work) for _ in range(repeats)])


def get(client: http.client.HTTPConnection, path: str, cookie: str) -> None:
    client.request("GET", path, headers={"Cookie": cookie})
    answer = client.getresponse()
    body = answer.read()
    if answer.status != 200:
        raise SystemExit(f"{path} answered {answer.status}: {body[:300]!r}")


def claims(study: Any, *, n_experts: int, each: int = 40) -> dict[str, float]:
    """Experts who claim one case after the other, all at once; none may be given another's."""
    from django.db import connection

    from annotation.models import ReviewCase, User
    from annotation.review import cases
    from annotation.review.queue import QueueFilters

    seconds: list[float] = []
    claimed: list[int] = []

    def work(expert: Any) -> None:
        for _ in range(each):
            began = time.perf_counter()
            case = cases.claim_next(expert, study.slug, QueueFilters())
            seconds.append(time.perf_counter() - began)
            claimed.append(case.pk if case else 0)
            # Decided: else it would be the next again.
            ReviewCase.objects.filter(pk=claimed[-1]).update(state=ReviewCase.State.RESOLVED)
        connection.close()

    experts = [User.objects.get(email=f"queue-{i}@example.org") for i in range(2, 2 + n_experts)]
    with ThreadPoolExecutor(n_experts) as pool:
        list(pool.map(work, experts))
    if len(claimed) != n_experts * each or len(set(claimed)) != len(claimed):
        raise SystemExit("a case was handed out twice, or a claim failed")
    return harness.percentiles(seconds)


if __name__ == "__main__":
    main()
