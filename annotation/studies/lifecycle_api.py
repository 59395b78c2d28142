"""Copies, archive and deletion of a study over the API."""

from __future__ import annotations

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.access import StudyAccess
from annotation.api.serializers import In, Out, operation
from annotation.models import Study
from annotation.models.people import Role
from annotation.studies import copies, lifecycle
from annotation.studies.api import StudyDetailOut, study_as_seen


class CopyIn(In):
    slug = serializers.SlugField(max_length=80)
    title = serializers.CharField(max_length=200)
    with_items = serializers.BooleanField(
        default=True, help_text="Items, candidates and tasks; never judgments."
    )
    from_draft = serializers.BooleanField(
        default=False,
        help_text="Ask what the draft of the protocol asks, not what the version in force does.",
    )
    workspace = serializers.SlugField(
        default=None, allow_null=True, max_length=80, help_text="One that you are admin of; null for none."
    )


class DeletionIn(In):
    title = serializers.CharField(max_length=200, help_text="The title of the study, as a confirmation.")


class StudyLifeOut(Out):
    shape, shown = Study, "slug state archived_at deletion_due_at"


class CopiesView(APIView):
    @operation("copy_study", StudyDetailOut, 400, 403, 404, 409, status=201, request=CopyIn)
    def post(self, request: Request, slug: str) -> Response:
        """Copy a study, with or without its items, and never with judgments or people. You are the copy's admin."""
        source = access.managed_study(request.user, slug)
        body = CopyIn.parsed(request.data)
        if body["workspace"] is not None:
            body["workspace"] = access.administered_workspace(request.user, body["workspace"])
        copy = copies.copy_study(source, actor=request.user, **body)
        return Response(study_as_seen(StudyAccess(copy, Role.ADMIN)), status=201)


class ArchiveView(APIView):
    @operation("archive_study", StudyLifeOut, 403, 404, 409, request=None)
    def put(self, request: Request, slug: str) -> Response:
        """Archive: closed, out of the lists, and nothing in it can be changed."""
        study = access.managed_study(request.user, slug)
        return Response(StudyLifeOut(lifecycle.archive_study(study, actor=request.user)).data)

    @operation("unarchive_study", StudyLifeOut, 403, 404)
    def delete(self, request: Request, slug: str) -> Response:
        """Take it out of the archive. It stays closed until it is opened."""
        study = access.managed_study(request.user, slug)
        return Response(StudyLifeOut(lifecycle.unarchive_study(study, actor=request.user)).data)


class DeletionView(APIView):
    @operation("request_deletion", StudyLifeOut, 400, 403, 404, 409, request=DeletionIn)
    def put(self, request: Request, slug: str) -> Response:
        """Delete the study in 14 days: items, judgments, releases and files. Until then it can be restored."""
        study = access.administered_study(request.user, slug)
        title = DeletionIn.parsed(request.data)["title"]
        return Response(
            StudyLifeOut(lifecycle.request_deletion(study, typed_title=title, actor=request.user)).data
        )

    @operation("restore_study", StudyLifeOut, 403, 404)
    def delete(self, request: Request, slug: str) -> Response:
        """Restore a study that waits to be deleted."""
        study = access.administered_study(request.user, slug)
        return Response(StudyLifeOut(lifecycle.cancel_deletion(study, actor=request.user)).data)
