"""Who is behind a session: asked on every request, so asked cheaply."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.http import HttpRequest

from annotation import signins
from annotation.models import User

_FIELDS = [field.attname for field in User._meta.concrete_fields]
_BY_ID = "SELECT {} FROM annotation_user WHERE id = %s AND is_active".format(
    ", ".join(f'"{field.column}"' for field in User._meta.concrete_fields)
)


class AccountBackend(ModelBackend):
    """Django's own, with the query for the session's user written out: building it cost more than all else about it."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **kwargs: Any,
    ) -> User | None:
        """After too many wrong passwords the right one is not let in either, or guessing would go on."""
        email = str(username or kwargs.get(User.USERNAME_FIELD, ""))
        if signins.seconds_to_wait(request, email) > 0:
            raise PermissionDenied
        found: User | None = super().authenticate(request, username=username, password=password, **kwargs)
        return found

    def get_user(self, user_id: int) -> User | None:
        with connection.cursor() as cursor:
            cursor.execute(_BY_ID, [user_id])
            row = cursor.fetchone()
        return None if row is None else User.from_db(connection.alias, _FIELDS, row)


def account_key(user: User) -> str:
    """A name for an account in its own browser, so that what waits there is never sent under another. No secret."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"concord account {user.pk}"))
