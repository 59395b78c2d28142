"""Releases of a study, and what a withdrawn rater gets in writing."""

from __future__ import annotations

from django.http import HttpResponse, StreamingHttpResponse
from drf_spectacular.utils import OpenApiTypes, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analytics import release_access
from analytics.api.release_shapes import (
    CertificateOut,
    ReleaseIn,
    ReleaseJobOut,
    ReleaseOut,
    ReleasePageOut,
    ReleasePreviewOut,
    ReleaseRowOut,
)
from analytics.services import releases, withdrawal_certificates
from annotation import access
from annotation.api import downloads, paging
from annotation.api.shapes import problems


class ReleasesView(APIView):
    @extend_schema(
        operation_id="releases",
        parameters=paging.PARAMETERS,
        responses={200: ReleasePageOut, **problems(400, 403, 404)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """The releases of a study, newest first."""
        study = access.managed_study(request.user, slug)
        return Response(paging.page(request, study.releases.all(), ReleaseRowOut, newest_first=True))

    @extend_schema(
        operation_id="start_release",
        request=ReleaseIn,
        responses={202: ReleaseJobOut, **problems(400, 403, 404, 409)},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Start making a release in the background: the study as it is at the moment that the work begins."""
        study = access.managed_study(request.user, slug)
        job = releases.start(study, ReleaseIn.wishes(request.data), actor=request.user)
        return Response({"job": job.pk, "state": job.state}, status=202)


class ReleasePreviewView(APIView):
    @extend_schema(operation_id="preview_release", responses={200: ReleasePreviewOut, **problems(403, 404)})
    def get(self, request: Request, slug: str) -> Response:
        """What a release made now would hold and leave out."""
        return Response(releases.preview(access.managed_study(request.user, slug)))


class ReleaseView(APIView):
    @extend_schema(operation_id="release", responses={200: ReleaseOut, **problems(403, 404)})
    def get(self, request: Request, slug: str, number: int) -> Response:
        """One release: its manifest, and what is other than in the one before."""
        return Response(ReleaseOut(release_access.release_of(request.user, slug, number)).data)


class ReleaseFileView(APIView):
    @extend_schema(
        operation_id="release_file",
        responses={
            (200, "application/zip"): OpenApiTypes.BINARY,
            (206, "application/zip"): OpenApiTypes.BINARY,
            302: None,
            416: None,
            **problems(403, 404, 409),
        },
    )
    def get(self, request: Request, slug: str, number: int) -> HttpResponse | StreamingHttpResponse:
        """The archive of a release. Supports ranges; where files are kept in a bucket, the answer is a redirect to a
        link that ends after five minutes."""
        release = release_access.release_of(request.user, slug, number)
        return downloads.send(
            request,
            releases.kept(release),
            filename=releases.file_name(release),
            content_type="application/zip",
            sha256=release.file_sha256,
            told=downloads.Fetched("release.fetched", release.study, f"release {release.number}"),
        )

    @extend_schema(operation_id="delete_release_file", responses={204: None, **problems(403, 404)})
    def delete(self, request: Request, slug: str, number: int) -> Response:
        """Delete the archive of a release. Its record stays, with the manifest by which it can be made again."""
        releases.delete_file(release_access.release_of(request.user, slug, number), actor=request.user)
        return Response(status=204)


class CertificateView(APIView):
    @extend_schema(
        operation_id="withdrawal_certificate", responses={200: CertificateOut, **problems(403, 404, 409)}
    )
    def get(self, request: Request, slug: str, pseudonym: str) -> Response:
        """What became of a rater who was withdrawn, and which earlier releases still hold what they said."""
        rater = access.rater_named(request.user, slug, pseudonym)
        return Response(withdrawal_certificates.certificate(rater))
