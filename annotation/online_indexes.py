"""Index changes that let people write meanwhile: operations for migrations of tables that raters write to.

An ordinary CREATE INDEX keeps every vote waiting until it is complete, which takes minutes on millions of judgments.
These run CONCURRENTLY, outside of a transaction, so their migration has `atomic = False`. A migration that was
interrupted can be applied again: what it left behind is built anew, what it completed stays.
"""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently, NotInTransactionMixin
from django.db.migrations.operations import AlterField

# Of a name that this session's tables go by: null where there is none, false where building it was interrupted.
_IS_VALID = "SELECT (SELECT i.indisvalid FROM pg_index i WHERE i.indexrelid = to_regclass(quote_ident(%s)))"


class AddIndexOnline(AddIndexConcurrently):
    """Adds an index; one that is there and complete stays as it is."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        self._ensure_not_in_transaction(schema_editor)
        with schema_editor.connection.cursor() as cursor:
            cursor.execute(_IS_VALID, [self.index.name])
            (is_valid,) = cursor.fetchone()
        if is_valid:
            return
        if is_valid is False:
            schema_editor.execute(f"DROP INDEX CONCURRENTLY {schema_editor.quote_name(self.index.name)}")
        super().database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        self._ensure_not_in_transaction(schema_editor)
        schema_editor.execute(
            f"DROP INDEX CONCURRENTLY IF EXISTS {schema_editor.quote_name(self.index.name)}"
        )


class DropForeignKeyIndexOnline(NotInTransactionMixin, AlterField):
    """Alters a foreign key in nothing but `db_index`, from True to False."""

    atomic = False

    def describe(self) -> str:
        return f"Concurrently drop the index of field {self.name} of {self.model_name}"

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        self._ensure_not_in_transaction(schema_editor)
        for name in self._names(app_label, schema_editor, from_state):
            schema_editor.execute(f"DROP INDEX CONCURRENTLY {schema_editor.quote_name(name)}")

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        self._ensure_not_in_transaction(schema_editor)
        model = to_state.apps.get_model(app_label, self.model_name)
        field = model._meta.get_field(self.name)
        if not self._names(app_label, schema_editor, to_state):
            schema_editor.execute(
                schema_editor._create_index_sql(
                    model, fields=[field], sql=schema_editor.sql_create_index_concurrently
                )
            )

    def _names(self, app_label: str, schema_editor: Any, state: Any) -> list[str]:
        """Of indexes on the field alone, without those that the model names."""
        model = state.apps.get_model(app_label, self.model_name)
        column = model._meta.get_field(self.name).column
        named = {index.name for index in model._meta.indexes}
        found = schema_editor._constraint_names(
            model, [column], index=True, unique=False, primary_key=False, exclude=named
        )
        return list(found)
