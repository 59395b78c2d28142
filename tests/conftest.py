"""What every test stands on: a database server of its own, scratch folders, nothing that leaves the machine."""

from __future__ import annotations

import gc
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import django
import pytest
from django.conf import settings as django_settings
from django.test import TransactionTestCase
from django.utils import translation
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from config import prepare, scratch
from tests.emptying import empty_tables

# Collecting the tests imports torch and much more, and makes no garbage worth a search: a quarter of the time it takes.
gc.disable()
# How long the first input takes says how busy the machine is, and nothing about the strategy.
hypothesis_settings.register_profile("suite", suppress_health_check=[HealthCheck.too_slow], deadline=None)
hypothesis_settings.load_profile("suite")
# Before anything imports the settings. The workers of pytest-xdist inherit their parent's server.
if "PYTEST_XDIST_WORKER" not in os.environ:
    # WhiteNoise complains where the collected files are missing; tests serve them uncollected.
    (scratch.make_scratch_home() / "static").mkdir()
prepare.compile_translations([Path(__file__).resolve().parents[1] / "labeling_ui" / "locale"])
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
django.setup()
# Messages sent in this process go nowhere: tests do the work they are about themselves. What they start as processes
# of their own reads the environment. (Set here, not there: workers of pytest-xdist read their settings before this.)
django_settings.CELERY_BROKER_URL = "memory://"
django_settings.CELERY_BROKER_TRANSPORT_OPTIONS = {}
import config.celery  # noqa: E402  (tasks that services send find the application)

assert config.celery.app.conf.broker_url == "memory://"
# What a test committed goes by the quick way.
TransactionTestCase._fixture_teardown = lambda self: empty_tables()


def pytest_collection_finish() -> None:
    """Set aside what lives to the end of the process, all the tests and modules. To look through them for garbage
    takes half a second each time, and whatever closes a model looks."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def _media_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One for each test, made when something is stored in it: few tests do, and `tmp_path` costs 3 ms."""
    folder = tmp_path_factory.mktemp("media")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def _quick_and_quiet(settings, _media_folders: Iterator[Path]) -> Iterator[None]:
    """Cheap passwords, mail in memory, files in a folder of the test, static files without a build, English."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    settings.MEDIA_ROOT = next(_media_folders)
    # Tests ask faster than anybody; those of the limits set their own.
    settings.API_CALLS_PER_MINUTE = dict.fromkeys(settings.API_CALLS_PER_MINUTE, 10**9)
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
    yield
    # A page in Chinese leaves its language with the thread, which in a server the next request replaces.
    translation.deactivate()


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser to drive, found by ./test."""
    path = os.environ.get("CONCORD_CHROMIUM", "")
    if not path:
        pytest.skip("no browser: ./test finds or installs one and names it in CONCORD_CHROMIUM")
    return path
