"""Every page. The API has its own list, in `annotation.api.urls`."""

from __future__ import annotations

from django.contrib.auth.views import LogoutView
from django.urls import path
from django.views.i18n import set_language

from labeling_ui.views import (
    auth,
    checks,
    desk,
    exports,
    home,
    imports,
    item_history,
    jobs,
    listening,
    model_prompts,
    models,
    new_study,
    people,
    planner,
    rate,
    raters,
    report,
    returned,
    review_queue,
    review_report,
    review_rules,
    scoring_run,
    sensitivity,
    settings,
    stopping,
    study,
    writers,
    writing_run,
)

urlpatterns = [
    path("", home.home, name="home"),
    # ── Accounts ─────────────────────────────────────────────────────────────
    path("sign-in/", auth.SignIn.as_view(), name="sign_in"),
    path("sign-out/", LogoutView.as_view(), name="sign_out"),
    path("account/password/", auth.PasswordChange.as_view(), name="password_change"),
    path("join/<str:token>/", auth.join, name="join"),
    path("language/", set_language, name="set_language"),
    # ── Rating ───────────────────────────────────────────────────────────────
    path("studies/<slug:slug>/guidelines/", rate.guidelines, name="guidelines"),
    path("studies/<slug:slug>/checks/", checks.checks, name="checks"),
    path("studies/<slug:slug>/work/", rate.work, name="work"),
    path("studies/<slug:slug>/returned/", returned.returned, name="returned"),
    path("studies/<slug:slug>/returned/<int:return_id>/keep/", returned.keep_returned, name="keep_returned"),
    # ── Review ───────────────────────────────────────────────────────────────
    path("review-cases/<int:case_id>/", desk.desk, name="desk"),
    path("review-cases/<int:case_id>/leave/", desk.leave_case, name="leave_case"),
    path("review-cases/<int:case_id>/drafts/<slug:field>/", desk.case_drafts, name="case_drafts"),
    path("studies/<slug:slug>/review/", review_queue.review_queue, name="review_queue"),
    path("studies/<slug:slug>/review/next/", review_queue.review_next, name="review_next"),
    path("studies/<slug:slug>/review/assign/", review_queue.assign_cases, name="assign_cases"),
    path("studies/<slug:slug>/review/views/", review_queue.save_view, name="save_view"),
    path(
        "studies/<slug:slug>/review/views/<int:view_id>/remove/",
        review_queue.delete_view,
        name="delete_view",
    ),
    path("studies/<slug:slug>/review/report/", review_report.review_report, name="review_report"),
    path(
        "studies/<slug:slug>/review/report/data.json",
        review_report.review_report_data,
        name="review_report_data",
    ),
    path(
        "studies/<slug:slug>/review/report/<slug:key>.svg",
        review_report.review_report_figure,
        name="review_report_figure",
    ),
    path("studies/<slug:slug>/review/rules/", review_rules.review_rules, name="review_rules"),
    path("studies/<slug:slug>/review/rules/preview/", review_rules.rules_preview, name="rules_preview"),
    path("studies/<slug:slug>/review/rules/apply/", review_rules.apply_rules, name="apply_rules"),
    path("studies/<slug:slug>/items/<int:item_id>/", item_history.item_history, name="item_history"),
    # ── Running a study ──────────────────────────────────────────────────────
    path("studies/new/", new_study.new_study, name="new_study"),
    path("studies/<slug:slug>/", study.study, name="study"),
    path("studies/<slug:slug>/state/", study.study_state, name="study_state"),
    path("studies/<slug:slug>/import/", imports.import_items, name="import"),
    path("studies/<slug:slug>/export/", exports.export, name="export"),
    path("studies/<slug:slug>/settings/", settings.settings, name="settings"),
    path("studies/<slug:slug>/settings/listening/", listening.listening_rules, name="listening_rules"),
    path("studies/<slug:slug>/settings/stopping/", stopping.stopping_rule, name="stopping_rule"),
    path("studies/<slug:slug>/settings/checks/", checks.check_settings, name="check_settings"),
    path("studies/<slug:slug>/plan/", planner.planner, name="planner"),
    path("studies/<slug:slug>/people/", people.people, name="people"),
    path("studies/<slug:slug>/people/<int:member_id>/", people.member, name="member"),
    path("studies/<slug:slug>/people/<int:member_id>/remove/", people.remove_member, name="remove_member"),
    path(
        "studies/<slug:slug>/invitations/<int:invitation_id>/revoke/",
        people.revoke_invitation,
        name="revoke_invitation",
    ),
    path("studies/<slug:slug>/report/", report.report, name="report"),
    path("studies/<slug:slug>/report/<slug:key>.<slug:extension>", report.report_file, name="report_file"),
    path("studies/<slug:slug>/raters/<str:pseudonym>/", raters.rater, name="rater"),
    path(
        "studies/<slug:slug>/raters/<str:pseudonym>/judgments/",
        raters.rater_judgments,
        name="rater_judgments",
    ),
    # ── Models in the loop ───────────────────────────────────────────────────
    path("studies/<slug:slug>/models/", models.models, name="models"),
    path("studies/<slug:slug>/models/new/", models.new_run, name="new_run"),
    path(
        "studies/<slug:slug>/models/<int:scorer_id>/sensitivity/",
        sensitivity.sensitivity,
        name="sensitivity",
    ),
    path(
        "studies/<slug:slug>/models/prescore/<int:number>/remove/",
        models.remove_prescore,
        name="remove_prescore",
    ),
    path("studies/<slug:slug>/models/prompts/", model_prompts.model_prompts, name="model_prompts"),
    path("studies/<slug:slug>/models/prompts/<slug:family>/", model_prompts.prompt_file, name="prompt_file"),
    path(
        "studies/<slug:slug>/models/prompts/<slug:family>/remove/",
        model_prompts.remove_prompts,
        name="remove_prompts",
    ),
    path("scoring-runs/<int:run_id>/", scoring_run.scoring_run, name="scoring_run"),
    path("scoring-runs/<int:run_id>/failed/", scoring_run.failed_rows, name="failed_rows"),
    path("scoring-runs/<int:run_id>/cancel/", scoring_run.cancel_run, name="cancel_run"),
    path("scoring-runs/<int:run_id>/retry/", scoring_run.retry_run, name="retry_run"),
    # ── Models that write ────────────────────────────────────────────────────
    path("studies/<slug:slug>/writers/", writers.writers, name="writers"),
    path("studies/<slug:slug>/writers/new/", writers.new_writer, name="new_writer"),
    path("studies/<slug:slug>/writers/file/", writers.texts_file, name="texts_file"),
    path("studies/<slug:slug>/writers/<int:writer_id>/", writers.edit_writer, name="edit_writer"),
    path("studies/<slug:slug>/writers/<int:writer_id>/start/", writers.start_writer, name="start_writer"),
    path("studies/<slug:slug>/writers/<int:writer_id>/retire/", writers.retire_writer, name="retire_writer"),
    path("writing-runs/<int:run_id>/", writing_run.writing_run, name="writing_run"),
    path("writing-runs/<int:run_id>/rows/", writing_run.written_rows, name="written_rows"),
    path("writing-runs/<int:run_id>/publish/", writing_run.publish_run, name="publish_run"),
    path("writing-runs/<int:run_id>/cancel/", writing_run.cancel_writing, name="cancel_writing"),
    path("writing-runs/<int:run_id>/retry/", writing_run.retry_writing, name="retry_writing"),
    path(
        "writing-runs/<int:run_id>/leave-out/<int:row_id>/", writing_run.leave_out_row, name="leave_out_row"
    ),
    # ── Background work ──────────────────────────────────────────────────────
    path("jobs/<uuid:job_id>/", jobs.job, name="job"),
    path("jobs/<uuid:job_id>/problems.csv", jobs.job_problems, name="job_problems"),
    path("jobs/<uuid:job_id>/cancel/", jobs.cancel_job, name="cancel_job"),
    path("jobs/<uuid:job_id>/import/", imports.import_for_real, name="import_for_real"),
]
