"""What experts did, as it stood at a horizon: corrections and the events of cases are appended."""

from __future__ import annotations

from analytics.releases.items_sql import FATES, RETRACTED
from analytics.releases.votes_sql import GONE

# Of an expert who rates too and has withdrawn, what they did to the item stays; their words, and when it was, do not.
_IS_GONE = "EXISTS (SELECT FROM gone WHERE gone.user_id = {account})"


def _unless_gone(told: str, *, account: str) -> str:
    return f"CASE WHEN NOT {_IS_GONE.format(account=account)} THEN {told} END"


# An expert is named as a rater is, once they are one and unless they have withdrawn.
_NAME = """
(SELECT r.pseudonym FROM annotation_rater r
 WHERE r.study_id = %(study)s AND r.user_id = {account} AND NOT EXISTS (SELECT FROM gone WHERE gone.rater_id = r.id)
       AND r.id <= %(raters)s)
"""

CORRECTIONS = f"""
WITH {GONE}, {FATES}
SELECT i.external_id, before.number, v.number, {RETRACTED}, c.case_id, c.field, c.before, c.after, c.reason,
       {_unless_gone("nullif(c.comment, '')", account="c.author_id")},
       c.origin, nullif(d.writer, ''), nullif(d.text, ''), d.provenance,
       {_NAME.format(account="c.author_id")},
       {_unless_gone("c.created_at AT TIME ZONE 'UTC'", account="c.author_id")}
FROM annotation_correction c
JOIN annotation_itemversion v ON v.id = c.version_after_id
JOIN annotation_itemversion before ON before.id = c.version_before_id
JOIN annotation_item i ON i.id = v.item_id
LEFT JOIN annotation_draft d ON d.id = c.draft_id
WHERE i.study_id = %(study)s AND c.id <= %(corrections)s
ORDER BY c.id
"""

_DECIDED = "CASE stands.kind WHEN 'decided' THEN {told} END"
_REMARK = _DECIDED.format(
    told=_unless_gone("nullif(stands.data ->> 'comment', '')", account="stands.actor_id")
)
_DECIDED_AT = _DECIDED.format(told=_unless_gone("stands.at AT TIME ZONE 'UTC'", account="stands.actor_id"))

CASES = f"""
WITH {GONE}, happened AS (
    SELECT e.* FROM annotation_caseevent e JOIN annotation_reviewcase c ON c.id = e.case_id
    WHERE c.study_id = %(study)s AND e.id <= %(case_events)s
), fired AS (
    SELECT case_id, min(at) AS opened_at,
           json_agg(json_build_object('rule', data ->> 'rule', 'fired_at', to_char(at AT TIME ZONE 'UTC',
                    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) ORDER BY id) AS rules
    FROM happened WHERE kind IN ('opened', 'fired') GROUP BY case_id
), stands AS (
    SELECT DISTINCT ON (case_id) case_id, kind, data, actor_id, at FROM happened
    WHERE kind IN ('opened', 'claimed', 'released', 'returned', 'came_back', 'decided', 'undone')
    ORDER BY case_id, id DESC
), judged AS (
    SELECT DISTINCT ON (case_id) case_id, data ->> 'judgment' AS judgment, at FROM happened
    WHERE kind = 'judged' ORDER BY case_id, id DESC
), unsaid AS (
    SELECT j.client_id::text AS judgment FROM annotation_judgment j JOIN gone ON gone.rater_id = j.rater_id
    WHERE j.study_id = %(study)s AND j.origin = 4
), counts AS (
    SELECT case_id, (array_agg({_unless_gone("at", account="actor_id")} ORDER BY at DESC, id DESC)
                     FILTER (WHERE kind = 'claimed'))[1] AS claimed_at,
           count(*) FILTER (WHERE kind = 'returned') AS returned, count(*) FILTER (WHERE kind = 'came_back') AS back
    FROM happened GROUP BY case_id
)
SELECT c.id, i.external_id, v.number, fired.rules,
       CASE stands.kind WHEN 'decided' THEN 'resolved' WHEN 'returned' THEN 'returned' WHEN 'claimed' THEN 'claimed'
                        WHEN 'undone' THEN 'claimed' ELSE 'open' END,
       CASE stands.kind WHEN 'decided' THEN stands.data ->> 'decision' END,
       {_REMARK},
       CASE stands.kind WHEN 'decided' THEN {_NAME.format(account="stands.actor_id")} END,
       CASE WHEN NOT EXISTS (SELECT FROM unsaid WHERE unsaid.judgment = judged.judgment) THEN judged.judgment END,
       counts.returned, counts.back, fired.opened_at AT TIME ZONE 'UTC', counts.claimed_at AT TIME ZONE 'UTC',
       {_DECIDED_AT}
FROM annotation_reviewcase c
JOIN fired ON fired.case_id = c.id
JOIN counts ON counts.case_id = c.id
LEFT JOIN stands ON stands.case_id = c.id
LEFT JOIN judged ON judged.case_id = c.id
JOIN annotation_item i ON i.id = c.item_id
JOIN annotation_itemversion v ON v.id = c.item_version_id
WHERE c.study_id = %(study)s
ORDER BY c.id
"""
