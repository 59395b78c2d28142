"""Files on their way in: to disk, never to memory, and only so large and so many."""

from __future__ import annotations

from collections.abc import Iterator
from tempfile import NamedTemporaryFile
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler


class RestingFile(UploadedFile):  # type: ignore[type-arg]
    """A file on disk that is open only while somebody reads it: a folder has more files than a process may have open.
    It is deleted when it is closed, at its request's end."""

    def __init__(self, name: str, content_type: str, charset: str | None, extra: Any) -> None:
        self._kept = NamedTemporaryFile(suffix=".upload", dir=settings.FILE_UPLOAD_TEMP_DIR)  # noqa: SIM115
        self._kept.file.close()  # the file within; closing the temporary file itself deletes it
        self._open: IO[bytes] | None = None
        super().__init__(None, name, content_type, 0, charset, extra)

    @property
    def file(self) -> IO[bytes]:
        if self._open is None:
            self._open = open(self._kept.name, "r+b")  # noqa: SIM115
        return self._open

    @file.setter
    def file(self, file: IO[Any] | None) -> None:
        """Django's files are given theirs; this one has its own."""

    def chunks(self, chunk_size: int | None = None) -> Iterator[bytes]:
        """The whole content. Nothing stays open."""
        with open(self._kept.name, "rb") as file:
            while chunk := file.read(chunk_size or self.DEFAULT_CHUNK_SIZE):
                yield chunk

    def rest(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def close(self) -> None:
        self.rest()
        self._kept.close()


class BoundedUploadHandler(FileUploadHandler):
    """Takes no larger requests than it should: forms are read before a view can ask who sends them."""

    _file: RestingFile

    def handle_raw_input(
        self, input_data: Any, META: Any, content_length: int, *args: Any, **kwargs: Any
    ) -> None:
        if content_length > settings.UPLOAD_MAX_BYTES:
            raise RequestDataTooBig(f"The upload exceeds CONCORD_UPLOAD_MAX_MB: {content_length} bytes.")

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        self._file = RestingFile(
            self.file_name or "", self.content_type or "", self.charset, self.content_type_extra
        )

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self._file.file.write(raw_data)

    def file_complete(self, file_size: int) -> RestingFile:
        self._file.size = file_size
        self._file.rest()
        return self._file

    def upload_interrupted(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()
