"""Let the database itself refuse to change what was said, corrected, excluded or logged."""

from __future__ import annotations

from django.db import migrations

FUNCTION = """
CREATE FUNCTION concord_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
-- TG_ARGV: the bookkeeping columns that may still change. Everything else in the row stands as it was written.
BEGIN
    IF TG_OP = 'UPDATE' AND to_jsonb(OLD) - TG_ARGV = to_jsonb(NEW) - TG_ARGV THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation', HINT = 'Add a new row (a revision, a version, an exclusion) instead.';
END
$$;
"""

BOOKKEEPING = {
    "annotation_judgment": ["effective", "excluded"],
    "annotation_answer": ["counted"],
    "annotation_exclusion": [],
    "annotation_itemversion": [],
    "annotation_candidate": [],
    "annotation_protocolversion": [],
    "annotation_question": [],
    "annotation_correction": [],
    "annotation_auditevent": [],
}


def trigger(table: str, columns: list[str]) -> str:
    arguments = ", ".join(f"'{column}'" for column in columns)
    return (
        f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON {table} "
        f"FOR EACH ROW EXECUTE FUNCTION concord_append_only({arguments});"
    )


class Migration(migrations.Migration):
    dependencies = [("annotation", "0001_initial")]

    operations = [
        migrations.RunSQL(FUNCTION, "DROP FUNCTION concord_append_only();"),
        *(
            migrations.RunSQL(trigger(table, columns), f"DROP TRIGGER append_only ON {table};")
            for table, columns in BOOKKEEPING.items()
        ),
    ]
