"""Studies can be archived, and deleted after a grace period; the append-only tables let a deletion through that says so."""

from django.db import migrations, models

FUNCTION = """
CREATE OR REPLACE FUNCTION concord_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
-- TG_ARGV: the bookkeeping columns that may still change. Everything else in the row stands as it was written.
BEGIN
    IF TG_OP = 'UPDATE' AND to_jsonb(OLD) - TG_ARGV = to_jsonb(NEW) - TG_ARGV THEN
        RETURN NEW;
    END IF;
{deletion}    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation', HINT = 'Add a new row (a revision, a version, an exclusion) instead.';
END
$$;
"""
# The whole study goes, in the one transaction that set this (annotation/studies/lifecycle.py). The audit log never.
DELETION = """    IF TG_OP = 'DELETE' AND TG_TABLE_NAME <> 'annotation_auditevent'
        AND current_setting('concord.deletes_study', true) = 'yes' THEN
        RETURN OLD;
    END IF;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0011_names_of_imported_files"),
    ]

    operations = [
        migrations.RunSQL(FUNCTION.format(deletion=DELETION), FUNCTION.format(deletion="")),
        migrations.AddField(
            model_name="study",
            name="archived_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="study",
            name="deleted_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="study",
            name="deletion_due_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddIndex(
            model_name="study",
            index=models.Index(
                condition=models.Q(("deletion_due_at__isnull", False)),
                fields=["deletion_due_at"],
                name="study_by_deletion_due",
            ),
        ),
    ]
