from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import AdminUserCreationForm
from django.http import HttpRequest

from annotation.admin.readonly import BoundedPaginator, ReadOnlyAdmin
from annotation.models import Invitation, Membership, Rater, User
from annotation.studies import audit


class AccountCreationForm(AdminUserCreationForm):
    class Meta:
        model = User
        fields = ("email", "name")


@admin.register(User)
class AccountAdmin(UserAdmin):
    """Accounts are switched off, never deleted: the audit log speaks of them."""

    show_full_result_count = False
    paginator = BoundedPaginator
    add_form = AccountCreationForm
    ordering = ("email",)
    list_display = ("email", "name", "is_active", "may_create_studies", "is_staff", "last_login")
    list_filter = ("is_active", "may_create_studies", "is_staff", "is_superuser")
    search_fields = ("email", "name")
    readonly_fields = ("last_login", "date_joined")
    fieldsets = (
        (None, {"fields": ("email", "name", "password")}),
        (
            "What this account may do",
            {"fields": ("is_active", "may_create_studies", "is_staff", "is_superuser")},
        ),
        ("Dates", {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = ((None, {"fields": ("email", "name", "usable_password", "password1", "password2")}),)
    filter_horizontal = ()

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        audit.record(
            "user.changed" if change else "user.created",
            actor=request.user,
            subject=f"user {obj.pk}",
            **{name: getattr(obj, name) for name in form.changed_data if name.startswith(("is_", "may_"))},
        )

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> Any:
        response = super().user_change_password(request, id, form_url)
        if request.method == "POST" and response.status_code == 302:
            audit.record("user.password_set", actor=request.user, subject=f"user {id}")
        return response


@admin.register(Membership)
class MembershipAdmin(ReadOnlyAdmin):
    list_display = ("user", "study", "role", "created_at")
    list_filter = ("role",)
    list_select_related = ("user", "study")
    search_fields = ("user__email", "study__slug")


@admin.register(Invitation)
class InvitationAdmin(ReadOnlyAdmin):
    list_display = ("study", "role", "uses", "max_uses", "expires_at", "revoked_at", "created_by")
    list_filter = ("role",)
    list_select_related = ("study", "created_by")
    search_fields = ("study__slug",)
    exclude = ("token_sha256",)


@admin.register(Rater)
class RaterAdmin(ReadOnlyAdmin):
    list_display = (
        "pseudonym",
        "study",
        "origin",
        "state",
        "n_judgments",
        "n_surplus",
        "n_skips",
        "last_judgment_at",
    )
    list_filter = ("state", "origin")
    list_select_related = ("study",)
    search_fields = ("pseudonym__exact", "study__slug__exact")
