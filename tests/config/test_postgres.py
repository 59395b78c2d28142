from __future__ import annotations

import pytest
from django.db import connection


@pytest.mark.django_db
def test_it_serves_a_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW fsync")
        assert cursor.fetchone() == ("off",)
