"""Files before anything is said of them: bring them, see their first rows, import them as you say."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import QueryDict
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api.job_shapes import JobOut
from annotation.api.shapes import problems
from annotation.api.upload_shapes import UploadImportIn, UploadIn, UploadLookIn, UploadOut
from annotation.importers import FORMATS, RowProblem
from annotation.models import Upload
from annotation.services import arrivals
from annotation.services.import_orders import NewStudy


class UploadsView(APIView):
    parser_classes = [MultiPartParser]

    @extend_schema(
        operation_id="upload",
        request={"multipart/form-data": UploadIn},
        responses={201: UploadOut, **problems(400, 403, 404, 413)},
    )
    def post(self, request: Request) -> Response:
        """Bring a file, an archive or the files of a folder, for a study that you run or to make one."""
        body = UploadIn.parsed(_listed(request))
        study = access.managed_study(request.user, body["study"]) if body["study"] else None
        files, paths = body["file"], body["path"]
        names = paths if len(paths) == len(files) else [file.name or "file" for file in files]
        brought = arrivals.receive(list(zip(names, files, strict=True)), actor=request.user, study=study)
        where = {"Location": reverse("api_upload", args=[brought.pk])}
        return Response(UploadOut(_seen(brought, "")).data, status=201, headers=where)


class UploadView(APIView):
    @extend_schema(
        operation_id="uploaded",
        parameters=[UploadLookIn],
        responses={200: UploadOut, **problems(400, 403, 404)},
    )
    def get(self, request: Request, upload_id: uuid.UUID) -> Response:
        """The format that the files look like, and the columns and first rows when they are read so."""
        brought = access.upload_of(request.user, upload_id)
        asked = UploadLookIn.parsed(request.query_params.dict())
        return Response(UploadOut(_seen(brought, asked["format"])).data)


class UploadImportView(APIView):
    @extend_schema(
        operation_id="import_upload",
        request=UploadImportIn,
        responses={202: JobOut, **problems(400, 403, 404, 409)},
    )
    def post(self, request: Request, upload_id: uuid.UUID) -> Response:
        """Import what was brought, into its study or a new one, in the background."""
        brought = access.upload_of(request.user, upload_id)
        body = UploadImportIn.parsed(request.data)
        new = body.pop("new_study")
        made = None if new is None else NewStudy(**new)
        job = arrivals.start(brought, actor=request.user, new_study=made, **body)
        return Response(JobOut(job).data, status=202, headers={"Location": reverse("api_job", args=[job.pk])})


def _listed(request: Request) -> dict[str, Any]:
    """A form's fields; those that come several times as lists."""
    form: QueryDict = request.data
    return {**form.dict(), **{name: form.getlist(name) for name in ("file", "path") if name in form}}


def _seen(brought: Upload, format: str) -> dict[str, Any]:
    guessed = arrivals.guess(brought)
    likely, why = ("", "") if isinstance(guessed, RowProblem) else guessed
    read_as = format or likely
    look = arrivals.look(brought, format=read_as) if read_as in FORMATS else None
    return {
        "id": brought.pk,
        "study": brought.study.slug if brought.study else None,
        "name": brought.name,
        "n_files": brought.n_files,
        "n_bytes": brought.n_bytes,
        "format": read_as,
        "why": why if read_as == likely else "",
        "columns": [
            {"name": name, "type": look.types[name], "suggested": look.suggested.get(name, "")}
            for name in look.columns
        ]
        if look
        else [],
        "rows": [list(row) for row in look.rows] if look else [],
    }
