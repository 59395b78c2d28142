"""Downloads from a site that keeps its files in a bucket: what was damaged there is not taken for what was made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from concord_client import Concord, DownloadError
from tests.annotation.world import World, make_world
from tests.api.conftest import Connect
from tests.buckets import KEPT, kept_in_bucket, keys, s3, s3_server

__all__ = ["kept_in_bucket", "s3", "s3_server"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("worker")]

Fetch = Callable[[Path], Path]


def a_release(boss: Concord) -> Fetch:
    job = boss.jobs.wait(boss.releases.start("here")["job"])
    return lambda to: boss.releases.download("here", job["report"]["release"], to)


def an_export(boss: Concord) -> Fetch:
    job = boss.jobs.wait(boss.exports.start("here", format="csv")["job"])
    return lambda to: boss.exports.download(job["id"], to)


def a_training_set(boss: Concord) -> Fetch:
    wanted = {"format": "trl-preference", "ratios": [1, 0, 0]}
    assert boss.training_sets.preview("here", **wanted)["tables"]
    begun = boss.training_sets.start("here", **wanted)
    job = boss.jobs.wait(begun["job"])
    return lambda to: boss.training_sets.download(job["id"], to)


@pytest.fixture
def world(kept_in_bucket) -> World:
    return make_world("here")


@pytest.mark.parametrize("made", [a_release, an_export, a_training_set])
def test_an_archive_that_was_damaged_in_the_bucket_is_refused(
    kept_in_bucket, connect: Connect, world: World, tmp_path: Path, made: Callable[[Concord], Fetch]
):
    before = {*keys(kept_in_bucket)}
    fetch = made(connect(world.researcher, "manage"))
    whole = fetch(tmp_path / "whole.zip").read_bytes()
    (key,) = {*keys(kept_in_bucket)} - before
    damaged = bytes([whole[0] ^ 1]) + whole[1:]
    kept_in_bucket.put_object(Bucket=KEPT, Key=key, Body=damaged)
    with pytest.raises(DownloadError, match=r"damaged\.zip is not the file that was made"):
        fetch(tmp_path / "damaged.zip")
    assert {path.name for path in tmp_path.glob("*zip*")} == {"whole.zip"}
