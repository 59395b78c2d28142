"""Consent: versions of a study's text, and who accepted or declined which of them, when."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction

from annotation.errors import Conflict, InvalidInput
from annotation.models import Consent, ConsentVersion, Rater, Study, TrainingRun, User
from annotation.onboarding import rules
from annotation.onboarding.clearing import lock_participant, revoke_clearance, revoke_training
from annotation.onboarding.rules import OnboardingRules, Version
from annotation.studies import audit
from annotation.studies.stored_settings import lock_study

MAX_TEXT = 50_000


def current_version(study: Study) -> ConsentVersion | None:
    return study.consent_versions.order_by("-number").first()


def text_in(version: ConsentVersion, language: str) -> str:
    """The text in a language; in English, or in whatever language it has, where it lacks this one."""
    texts: dict[str, str] = version.texts
    return texts.get(language) or texts.get("en") or next(iter(texts.values()))


def language_of(version: ConsentVersion, language: str) -> str:
    """The language in which `text_in` gives the text."""
    if version.texts.get(language):
        return language
    return "en" if version.texts.get("en") else next(iter(version.texts))


@transaction.atomic
def publish_version(
    study: Study, *, texts: Mapping[str, str], reconsent: str, actor: User | None
) -> ConsentVersion:
    """Make this text the study's consent. The text in force again, for the same raters, makes no new version.

    With `reconsent` "everybody", raters who consented before consent anew before their next task. What they hold they
    may still send.
    """
    study = lock_study(study)
    written = written_texts(texts)
    _check_texts(written)
    if reconsent not in ConsentVersion.Reconsent:
        raise InvalidInput.of_field(
            "reconsent", f"{reconsent!r} is not one of {', '.join(ConsentVersion.Reconsent.values)}."
        )
    before = current_version(study)
    if before is not None and (before.texts, before.reconsent) == (written, reconsent):
        return before
    version = ConsentVersion.objects.create(
        study=study,
        number=before.number + 1 if before else 1,
        texts=written,
        reconsent=reconsent,
        created_by=actor,
    )
    if reconsent == ConsentVersion.Reconsent.EVERYBODY:
        revoke_clearance(study.raters.all())
    audit.record(
        "consent.version_added",
        actor=actor,
        study=study,
        subject=f"consent {version.number}",
        reconsent=reconsent,
        languages=sorted(written),
    )
    return version


def written_texts(texts: Mapping[str, str]) -> dict[str, str]:
    """The texts as they are stored: those that are not empty, with one kind of line ends."""
    cleaned = {language: text.replace("\r\n", "\n").strip() for language, text in texts.items()}
    return {language: text for language, text in cleaned.items() if text}


def _check_texts(texts: Mapping[str, str]) -> None:
    if not texts:
        raise InvalidInput.of_field("texts", "Write the text in at least one language.")
    for language, text in texts.items():
        if len(text) > MAX_TEXT:
            raise InvalidInput.of_field(
                f"texts.{language}", f"The text is too long: {MAX_TEXT:,} characters are the most."
            )


def latest_decision(rater: Rater) -> Consent | None:
    return rater.consents.select_related("version").order_by("-pk").first()


def standing(rater: Rater) -> str:
    """done, declined (the latest decision, about what would be due), or due."""
    versions = [
        Version(number, reconsent == ConsentVersion.Reconsent.EVERYBODY)
        for number, reconsent in ConsentVersion.objects.filter(study_id=rater.study_id)
        .order_by("number")
        .values_list("number", "reconsent")
    ]
    decision = latest_decision(rater)
    accepted = decision.version.number if decision and decision.accepted else None
    if rules.consent_holds(versions, accepted=accepted):
        return "done"
    return "declined" if decision and not decision.accepted else "due"


@transaction.atomic
def decide(rater: Rater, *, version: int, accepted: bool, language: str) -> Consent:
    """Record what a rater decides about the version that they read. The same decision twice is one.

    Raises Conflict `consent_changed` where another version is in force by now: they read that one first.
    """
    rater = lock_participant(rater)
    current = current_version(rater.study)
    if current is None:
        raise Conflict("This study has no consent text.", code="no_consent_text")
    if current.number != version:
        raise Conflict(
            "The text has changed since you opened this page. Read the new version, then decide.",
            code="consent_changed",
        )
    before = latest_decision(rater)
    if before is not None and (before.version_id, before.accepted) == (current.pk, accepted):
        return before
    decision = Consent.objects.create(
        rater=rater, version=current, accepted=accepted, language=language_of(current, language)
    )
    if not accepted:
        revoke_clearance([rater])
    elif before is not None and before.version_id != current.pk and _trains_again(rater):
        revoke_training([rater], reason=f"consent {current.number}")
    audit.record(
        "consent.accepted" if accepted else "consent.declined",
        actor=None,
        study=rater.study,
        subject=rater.pseudonym,
        version=current.number,
        language=decision.language,
    )
    return decision


def _trains_again(rater: Rater) -> bool:
    passed = rater.training_runs.filter(state=TrainingRun.State.PASSED, revoked_at=None)
    return OnboardingRules.of(rater.study.rules).training.again_with_consent and passed.exists()
