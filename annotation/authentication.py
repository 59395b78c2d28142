"""Who is behind a session: asked on every request, so asked cheaply."""

from __future__ import annotations

import uuid

from django.contrib.auth.backends import ModelBackend
from django.db import connection

from annotation.models import User

_FIELDS = [field.attname for field in User._meta.concrete_fields]
_BY_ID = "SELECT {} FROM annotation_user WHERE id = %s AND is_active".format(
    ", ".join(f'"{field.column}"' for field in User._meta.concrete_fields)
)


class AccountBackend(ModelBackend):
    """Django's own, with the query for the session's user written out: building it cost more than all else about it."""

    def get_user(self, user_id: int) -> User | None:
        with connection.cursor() as cursor:
            cursor.execute(_BY_ID, [user_id])
            row = cursor.fetchone()
        return None if row is None else User.from_db(connection.alias, _FIELDS, row)


def account_key(user: User) -> str:
    """A name for an account in its own browser, so that what waits there is never sent under another. No secret."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"concord account {user.pk}"))
