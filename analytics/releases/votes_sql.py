"""What was said, as it stood at a horizon. Judgments, revisions, marks and withdrawals are appended and never altered,
so what stood is told by their ids: a judgment was effective if no later revision of it is within the horizon, and
excluded if the last mark within it says so.

Raters who had withdrawn are not there, or without whatever tells of them (`RaterWithdrawal.Mode`): their judgments then
have other names and come last, in the order of these.
"""

from __future__ import annotations

# Raters of the study who had withdrawn. Written where it is read: of a part that is kept, no worker beside may read.
GONE = """
gone AS NOT MATERIALIZED (
    SELECT w.rater_id, w.mode, w.salt, r.user_id FROM annotation_raterwithdrawal w
    JOIN annotation_rater r ON r.id = w.rater_id
    WHERE r.study_id = %(study)s AND w.id <= %(rater_withdrawals)s
)
"""

# As `annotation.rules.anonymity` has it.
_ANONYMOUS_NAME = "left(encode(sha256(gone.salt || convert_to(j.client_id::text, 'UTF8')), 'hex'), 32)::uuid"

# Every judgment that a release tells of, and whether it stood. `shown` is an array of slots by position.
_SAID = f"""
{GONE}, revised AS (
    SELECT assignment_id, max(revision) AS revision FROM annotation_judgment
    WHERE study_id = %(study)s AND id <= %(judgments)s AND revision > 1 GROUP BY assignment_id
), marked AS (
    SELECT DISTINCT ON (e.judgment_id) e.judgment_id, e.action = 'exclude' AS excluded, e.reason
    FROM annotation_exclusion e JOIN annotation_judgment j ON j.id = e.judgment_id
    WHERE j.study_id = %(study)s AND e.id <= %(exclusions)s
    ORDER BY e.judgment_id, e.id DESC
), said AS (
    SELECT j.*, gone.mode IS NOT NULL AS anonymous,
           CASE WHEN gone.mode IS NOT NULL THEN {_ANONYMOUS_NAME} END AS other_name,
           NOT j.surplus AND (revised.revision IS NULL OR revised.revision = j.revision) AS stands,
           gone.mode IS NOT NULL OR coalesce(marked.excluded, false) AS out,
           CASE WHEN gone.mode IS NOT NULL THEN 'rater_withdrawn' WHEN marked.excluded THEN marked.reason END AS why
    FROM annotation_judgment j
    LEFT JOIN gone ON gone.rater_id = j.rater_id
    LEFT JOIN marked ON marked.judgment_id = j.id
    LEFT JOIN revised ON revised.assignment_id = j.assignment_id
    WHERE j.study_id = %(study)s AND j.id <= %(judgments)s AND gone.mode IS DISTINCT FROM 'removed'
)
"""

_KIND = """
CASE t.kind WHEN 1 THEN 'regular' WHEN 2 THEN 'training' WHEN 3 THEN 'gold' WHEN 4 THEN 'trap' ELSE 'repeat' END
"""
_ORIGIN = "CASE j.origin WHEN 1 THEN 'rated' WHEN 2 THEN 'imported' WHEN 3 THEN 'simulated' ELSE 'expert' END"
_PRESENTATION = """
CASE WHEN cardinality(j.presentation) > 0 THEN chr(31) || array_to_string(j.presentation, chr(31)) ELSE '' END
"""

JUDGMENTS = f"""
WITH {_SAID}, shown AS (
    SELECT tc.task_id, array_agg(s.name ORDER BY tc.slot) AS names, array_agg(tc.candidate_id ORDER BY tc.slot) AS ids,
           chr(31) || string_agg(s.name, chr(31) ORDER BY tc.slot) AS systems,
           chr(31) || string_agg(c.take::text, chr(31) ORDER BY tc.slot) AS takes
    FROM annotation_taskcandidate tc
    JOIN annotation_task t ON t.id = tc.task_id
    JOIN annotation_candidate c ON c.id = tc.candidate_id
    JOIN annotation_system s ON s.id = c.system_id
    WHERE t.study_id = %(study)s GROUP BY tc.task_id
)
SELECT coalesce(j.other_name, j.client_id),
       i.external_id, v.number, t.external_id, {_KIND}, shown.systems, shown.takes, {_PRESENTATION},
       CASE WHEN j.anonymous THEN NULL ELSE r.pseudonym END, {_ORIGIN}, j.revision, j.stands, j.out, j.why, j.surplus,
       j.stands AND NOT j.out AND j.origin <> 4, p.number,
       q.key, q.kind,
       coalesce(array_position(shown.ids, a.candidate_id) - 1, CASE cardinality(shown.ids) WHEN 1 THEN 0 END) AS slot,
       shown.names[coalesce(array_position(shown.ids, a.candidate_id), CASE cardinality(shown.ids) WHEN 1 THEN 1 END)],
       CASE a.choice WHEN 3 THEN 'tie' WHEN 4 THEN 'both_bad' ELSE shown.names[a.choice] END,
       CASE WHEN a.choice < 3 THEN a.choice - 1 END,
       CASE WHEN a.choice = 3 THEN 'tie' WHEN a.choice = 4 THEN 'both_bad'
            WHEN cardinality(j.presentation) > 0
            THEN CASE WHEN j.presentation[1] = a.choice - 1 THEN 'A' WHEN a.choice IS NOT NULL THEN 'B' END END,
       a.value, a.confidence, CASE WHEN j.anonymous THEN NULL ELSE nullif(a.text, '') END,
       CASE WHEN j.anonymous THEN NULL ELSE a.events END,
       CASE WHEN cardinality(j.codes) > 0 THEN chr(31) || array_to_string(j.codes, chr(31)) ELSE '' END,
       CASE WHEN j.anonymous THEN NULL ELSE nullif(j.comment, '') END,
       s.hint, CASE WHEN j.anonymous THEN NULL ELSE s.hint_shown END, o.number, s.inclusion_probability,
       CASE WHEN j.anonymous THEN NULL ELSE s.leased_at AT TIME ZONE 'UTC' END,
       CASE WHEN j.anonymous THEN NULL ELSE j.started_at AT TIME ZONE 'UTC' END,
       CASE WHEN j.anonymous THEN NULL ELSE j.submitted_at AT TIME ZONE 'UTC' END
FROM said j
JOIN annotation_task t ON t.id = j.task_id
JOIN annotation_itemversion v ON v.id = t.item_version_id
JOIN annotation_item i ON i.id = v.item_id
JOIN annotation_protocolversion p ON p.id = j.protocol_version_id
JOIN shown ON shown.task_id = j.task_id
LEFT JOIN annotation_rater r ON r.id = j.rater_id
LEFT JOIN annotation_assignment s ON s.id = j.assignment_id
LEFT JOIN annotation_orderingpolicy o ON o.id = s.policy_id
LEFT JOIN annotation_answer a ON a.judgment_id = j.id
LEFT JOIN annotation_question q ON q.id = a.question_id
ORDER BY j.other_name NULLS FIRST, j.id, a.question_id, a.id
"""

LISTENING = f"""
WITH {_SAID}
SELECT j.client_id, j.telemetry, CASE WHEN j.gains IS NOT NULL THEN to_json(j.gains) END
FROM said j
WHERE NOT EXISTS (SELECT FROM gone WHERE gone.rater_id = j.rater_id)
      AND (j.telemetry IS NOT NULL OR j.gains IS NOT NULL)
ORDER BY j.id
"""

RATERS = f"""
WITH {_SAID}, checked AS (
    SELECT rater_id, count(*) AS n, count(*) FILTER (WHERE state = 'passed') AS passed
    FROM annotation_listeningcheck WHERE id = ANY(%(checks)s::uuid[]) GROUP BY rater_id
), counts AS (
    SELECT rater_id, count(*) AS n, count(*) FILTER (WHERE stands AND NOT out AND origin <> 4) AS counted,
           count(*) FILTER (WHERE out) AS excluded, count(*) FILTER (WHERE surplus) AS surplus,
           count(*) FILTER (WHERE revision > 1) AS revisions
    FROM said GROUP BY rater_id
)
SELECT r.pseudonym, r.origin, coalesce(counts.n, 0), coalesce(counts.counted, 0), coalesce(counts.excluded, 0),
       coalesce(counts.surplus, 0), coalesce(counts.revisions, 0), coalesce(checked.n, 0), coalesce(checked.passed, 0)
FROM annotation_rater r
LEFT JOIN counts ON counts.rater_id = r.id
LEFT JOIN checked ON checked.rater_id = r.id
WHERE r.study_id = %(study)s AND (counts.n > 0 OR checked.n > 0)
      AND NOT EXISTS (SELECT FROM gone WHERE gone.rater_id = r.id)
ORDER BY r.pseudonym COLLATE "C"
"""

CHECKS = f"""
WITH {GONE}
SELECT r.pseudonym, c.kind, c.state = 'passed', c.n_correct, jsonb_array_length(c.trials),
       c.started_at AT TIME ZONE 'UTC', c.finished_at AT TIME ZONE 'UTC'
FROM annotation_listeningcheck c JOIN annotation_rater r ON r.id = c.rater_id
WHERE c.id = ANY(%(checks)s::uuid[]) AND NOT EXISTS (SELECT FROM gone WHERE gone.rater_id = r.id)
ORDER BY r.pseudonym COLLATE "C", c.finished_at, c.id
"""

# Judgments by what became of them; then raters who have withdrawn, by mode.
FATES = f"""
WITH {_SAID}
SELECT out, why, stands, surplus, origin = 4, count(*) FROM said GROUP BY 1, 2, 3, 4, 5
"""
WITHDRAWN = f"WITH {GONE} SELECT mode, count(*) FROM gone GROUP BY mode ORDER BY mode"
