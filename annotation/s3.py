"""S3 client, as the settings describe it."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.conf import settings


def client(**changed: str | None) -> Any:
    """One client for all threads of a process; making one takes longer than most requests."""
    return _client(**{**settings.S3, **changed})


def config(addressing_style: str) -> Any:
    # Half a second that only those pay who use a bucket.
    from botocore.config import Config

    return Config(
        s3={"addressing_style": addressing_style},
        signature_version="s3v4",
        connect_timeout=10,
        read_timeout=30,
        retries={"mode": "standard", "total_max_attempts": 3},
    )


@cache
def _client(
    *,
    endpoint_url: str | None,
    region_name: str | None,
    access_key: str | None,
    secret_key: str | None,
    addressing_style: str,
) -> Any:
    import boto3

    return boto3.client(
        "s3",
        endpoint_url=endpoint_url,
        region_name=region_name,
        aws_access_key_id=access_key,
        aws_secret_access_key=secret_key,
        config=config(addressing_style),
    )
