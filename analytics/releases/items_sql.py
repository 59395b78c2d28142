"""Items and what was answered to them, as they stood at a horizon: versions and candidates are appended, and what
became of items is in the audit log."""

from __future__ import annotations

# What had been decided about items: the last event of each kind about a subject stands.
_FATES = """
taken_out AS (
    SELECT DISTINCT ON (subject) subject, action = 'item.withdrawn' AS withdrawn FROM annotation_auditevent
    WHERE study_id = %(study)s AND id <= %(audit_events)s AND action IN ('item.withdrawn', 'item.brought_back')
    ORDER BY subject, id DESC
), undone AS (
    SELECT DISTINCT subject, (data ->> 'version')::int AS number FROM annotation_auditevent
    WHERE study_id = %(study)s AND id <= %(audit_events)s AND action = 'item.version_retracted'
)
"""
RETRACTED = "EXISTS (SELECT FROM undone WHERE undone.subject = 'item ' || i.id AND undone.number = v.number)"
FATES = _FATES

# Sounds are kept without a suffix as they came. By it players and loaders know them; of some codecs, which come in
# several containers, it names the usual one.
_SUFFIX = """
CASE WHEN {clip}.source_codec LIKE 'pcm%%be' THEN '.aiff' WHEN {clip}.source_codec LIKE 'pcm%%' THEN '.wav'
     WHEN {clip}.source_codec LIKE 'mp3%%' THEN '.mp3' WHEN {clip}.source_codec = 'flac' THEN '.flac'
     WHEN {clip}.source_codec IN ('vorbis', 'opus') THEN '.ogg' WHEN {clip}.source_codec IN ('aac', 'alac') THEN '.m4a'
     ELSE '' END
"""
# Where a sound lies in the release; nothing where it brings none.
_AUDIO = f"""
CASE %(audio)s WHEN 'canonical' THEN 'audio/' || {{clip}}.canonical_sha256 || '.flac'
               WHEN 'original' THEN 'audio/' || {{clip}}.sha256 || {_SUFFIX} END
"""
_CLIP = "{clip}.sha256, {clip}.canonical_sha256, {clip}.duration_s, " + _AUDIO

ITEMS = f"""
WITH {_FATES}, versions AS (
    SELECT v.*, i.external_id, i.strata, {RETRACTED} AS taken_back,
           CASE WHEN taken_out.withdrawn THEN 'withdrawn' ELSE 'active' END AS state
    FROM annotation_itemversion v JOIN annotation_item i ON i.id = v.item_id
    LEFT JOIN taken_out ON taken_out.subject = 'item ' || i.id
    WHERE i.study_id = %(study)s AND v.id <= %(item_versions)s
), newest AS (
    SELECT item_id, max(number) AS number FROM versions WHERE NOT taken_back GROUP BY item_id
)
SELECT v.external_id, v.number, newest.number IS NOT NULL, v.taken_back, v.state, v.strata, nullif(v.prompt, ''),
       nullif(v.lyrics, ''), nullif(v.question, ''), nullif(v.reference, ''), nullif(v.rationale, ''),
       nullif(v.transcript, ''), v.extra, {_CLIP.format(clip="ref")}, {_CLIP.format(clip="own")}
FROM versions v
LEFT JOIN newest ON newest.item_id = v.item_id AND newest.number = v.number
LEFT JOIN annotation_clip ref ON ref.id = v.reference_clip_id
LEFT JOIN annotation_clip own ON own.id = v.clip_id
ORDER BY v.id
"""

CANDIDATES = f"""
SELECT i.external_id, v.number, s.name, s.role, c.take,
       CASE WHEN c.clip_id IS NULL THEN c.text ELSE nullif(c.text, '') END,
       before.number, c.provenance, {_CLIP.format(clip="own")}
FROM annotation_candidate c
JOIN annotation_itemversion v ON v.id = c.item_version_id
JOIN annotation_item i ON i.id = v.item_id
JOIN annotation_system s ON s.id = c.system_id
LEFT JOIN annotation_candidate origin ON origin.id = c.carried_from_id
LEFT JOIN annotation_itemversion before ON before.id = origin.item_version_id
LEFT JOIN annotation_clip own ON own.id = c.clip_id
WHERE i.study_id = %(study)s AND v.id <= %(item_versions)s AND c.id <= %(candidates)s
ORDER BY c.id
"""

# The sounds that a release with audio brings: where each lies, where it is kept, and its hash.
SOUNDS = f"""
SELECT DISTINCT ON (path) {_AUDIO.format(clip="k")} AS path,
       CASE %(audio)s WHEN 'canonical' THEN k.canonical ELSE k.original END,
       CASE %(audio)s WHEN 'canonical' THEN k.canonical_sha256 ELSE k.sha256 END
FROM annotation_itemversion v
JOIN annotation_item i ON i.id = v.item_id
LEFT JOIN annotation_candidate c ON c.item_version_id = v.id AND c.id <= %(candidates)s
JOIN annotation_clip k ON k.id IN (v.clip_id, v.reference_clip_id, c.clip_id)
WHERE i.study_id = %(study)s AND v.id <= %(item_versions)s
ORDER BY path, k.id
"""
