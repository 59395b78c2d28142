"""Files of a study that are written from the terminal. What leaves so is in the audit log, as what the pages give out
is; of no account, for whoever sits at the terminal needs none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from analytics.services import exports, training_sets
from analytics.training_sets.options import Options
from annotation import audit
from annotation.models import RaterWithdrawal, Study

if TYPE_CHECKING:
    from analytics.releases.cut import Cut


def export(study: Study, *, format: str, texts: str, out: Path) -> dict[str, Any]:
    """As `exports.write`."""
    made = exports.write(study, format=format, texts=texts, out=out)
    audit.record("export.written", actor=None, study=study, format=format, texts=texts, counts=made["counts"])
    return made


def training_set(study: Study, options: Options, *, out: Path) -> dict[str, Any]:
    """As `training_sets.write`."""
    made = training_sets.write(study, options, out=out)
    audit.record(
        "training_set.written", actor=None, study=study, options=options.as_json(), counts=made["counts"]
    )
    return made


def withdrawn_since(cut: Cut, study: Study) -> int:
    """How many raters have asked to be taken out since, whom the release made again holds all the same."""
    return RaterWithdrawal.objects.filter(rater__study=study, pk__gt=cut.horizon.rater_withdrawals).count()


def rebuilt_release(cut: Cut, study: Study, *, out: Path) -> dict[str, Any]:
    """As `folder.write`. In the log whatever it comes to: the files are there."""
    from analytics.releases import folder  # pyarrow is no business of processes that only ask

    made = folder.write(cut, study, out=out)
    audit.record(
        "release.rebuilt", actor=None, study=study, subject=f"release {cut.number}", sha256=made["sha256"],
        withdrawn_since=withdrawn_since(cut, study),
    )  # fmt: skip
    return made
