"""Files on their way in: to disk, never to memory, and only so large."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import TemporaryFileUploadHandler


class BoundedUploadHandler(TemporaryFileUploadHandler):
    """Django's, which would take any size from anybody: forms are read before a view can ask who sends them."""

    def handle_raw_input(
        self, input_data: Any, META: Any, content_length: int, *args: Any, **kwargs: Any
    ) -> None:
        if content_length > settings.UPLOAD_MAX_BYTES:
            raise RequestDataTooBig(f"The upload exceeds CONCORD_UPLOAD_MAX_MB: {content_length} bytes.")
