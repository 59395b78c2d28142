"""Judges that learn: ORCA on people's real ratings, CMI-RM on the demo study, whose truth is known.

    python benchmarks/learned_judges.py orca --data FOLDER/orca [--encoder google/gemma-3-270m] [--edges clamp]
    python benchmarks/learned_judges.py music

One JSON line per scenario: figures as mean and standard deviation over seeds, baselines on the same test answers, the
human ceiling, training seconds, peak memory. Without a name, both with their defaults.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

PARTS = {"orca": "benchmarks.learned_orca", "music": "benchmarks.learned_music"}


def main() -> None:
    chooser = argparse.ArgumentParser(description="Judges that learn.", add_help=False)
    chooser.add_argument("part", nargs="?", choices=list(PARTS))
    chosen, rest = chooser.parse_known_args()
    if rest and not chosen.part:
        chooser.error(f"say first which: {' or '.join(PARTS)}")
    for part in [chosen.part] if chosen.part else PARTS:
        module = import_module(PARTS[part])
        parser = argparse.ArgumentParser(prog=f"learned_judges.py {part}", description=module.__doc__)
        module.add_arguments(parser)
        module.run(parser.parse_args(rest))


if __name__ == "__main__":
    main()
