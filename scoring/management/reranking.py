"""Best of N from the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, OutputWrapper

from annotation.errors import InvalidInput
from scoring.files.candidates import Group, read_groups
from scoring.files.ranking import FORMATS, Gain, Ranked, gains, rank, write
from scoring.management.file_scores import RowProgress
from scoring.metrics import registry
from scoring.metrics.contract import SetupError
from scoring.metrics.entries import Entry, Reads
from scoring.services import opened

# As in the paper, as far as there are so many candidates.
_NS = (1, 3, 10)
_SHOWN = 20


def rerank(
    folder: Path,
    scorer: str,
    options: Mapping[str, Any],
    *,
    by: Sequence[str],
    ns: Sequence[int],
    target: Path | None,
    stdout: OutputWrapper,
    stderr: OutputWrapper,
) -> None:
    """Raises CommandError, and InvalidInput for what is wrong with the folder, before a model is loaded."""
    target = target or folder.resolve().with_name(f"{folder.resolve().name}.ranking.csv")
    try:
        entry = registry.entry(scorer)
        _check(entry, ns, target)
        chosen = registry.validated(scorer, options)
        groups = read_groups(folder, needs_text=entry.reads_text)
        wanted = _ns(ns, groups)
        metric = opened.opened(scorer, chosen)
        ranked = rank(groups, metric, by=by, ns=wanted, on_progress=RowProgress(stderr))
    except (registry.OptionError, SetupError) as error:
        raise CommandError(str(error)) from error
    write(target, ranked, scorer=metric.identity, ns=wanted)
    for line in _table(gains(ranked, wanted), ranked, wanted):
        stdout.write(line)
    stdout.write(f"All of it is in {target}.")


def _check(entry: Entry, ns: Sequence[int], target: Path) -> None:
    if entry.reads is not Reads.SINGLE or not entry.hears:
        raise InvalidInput(
            f"{entry.name} gives no single sound a score. Choose a scorer that hears one at a time."
        )
    if bad := [n for n in ns if n < 1]:
        raise InvalidInput(f"--n {bad[0]}: the best of N is for N of 1 and more.")
    if target.suffix not in FORMATS:
        raise InvalidInput(f"{target.name} is none of {', '.join(FORMATS)}. Name the output so.")
    if not target.parent.is_dir():
        raise InvalidInput(f"There is no folder {target.parent}. Make it first.")


def _ns(given: Sequence[int], groups: Sequence[Group]) -> list[int]:
    """Those asked for, or the paper's up to the most candidates there are, and that number itself."""
    most = max(len(group.names) for group in groups)
    return sorted({*given} or {*(n for n in _NS if n < most), most})


def _table(found: Sequence[Gain], ranked: Sequence[Ranked], ns: Sequence[int]) -> list[str]:
    outputs = list(dict.fromkeys(name for gain in found for name in gain.readings))
    lines = [f"{'best of':>9}  {'prompts':>7}  {'mean':>9}" + "".join(f"  {name:>12}" for name in outputs)]
    for gain in found:
        means = "".join(f"  {_number(gain.readings.get(name)):>12}" for name in outputs)
        fewer = f"  ({gain.n_fewer} with fewer candidates)" if gain.n_fewer else ""
        lines.append(f"{gain.n:>9}  {gain.n_prompts:>7}  {_number(gain.value):>9}{means}{fewer}")
    lines.append("")
    lines += [_chosen(each, ns[-1]) for each in ranked[:_SHOWN]]
    if len(ranked) > _SHOWN:
        lines.append(f"… and {len(ranked) - _SHOWN} more prompts.")
    faults = [one for each in ranked for one in each.candidates if one.fault]
    if faults:
        first = faults[0]
        reason = first.fault.message if first.fault else ""
        lines += ["", f"{len(faults)} candidates could not be scored; the first is {first.name}: {reason}"]
    return lines


def _chosen(ranked: Ranked, n: int) -> str:
    place = ranked.best[n]
    if place is None:
        return f"{ranked.group.name}: none of its candidates could be scored"
    best = ranked.candidates[place]
    return f"{ranked.group.name}: {best.name} ({_number(best.value)}), of {len(ranked.candidates)}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
