"""What arrived, in the terminal: a line per look that found something."""

import sys
import time
from typing import TYPE_CHECKING

from topicture.app.counting import counted
from topicture.collection.words import printable

if TYPE_CHECKING:
    from topicture.app.verbs.upkeep.watching import Arrived

__all__ = ["print_arrived"]


def print_arrived(arrived: "Arrived", *, quiet: bool = False) -> None:
    """One line; troubles go to standard error, even where nothing else is told."""
    scan, parts = arrived.scan, []
    if scan is not None:
        numbers = ((scan.new, "new"), (scan.moved, "moved"), (scan.changed, "changed"), (scan.gone, "gone"))
        parts += [f"{n} {what}" for n, what in numbers if n]
        if scan.withheld:
            parts.append(f"{counted(len(scan.withheld), 'tag')} left for 'topicture scan' to ask about")
    if arrived.photos:
        parts.append(f"{counted(arrived.suggestions, 'suggestion')} for {counted(arrived.photos, 'photo')}")
    if arrived.accepted:
        parts.append(f"{arrived.accepted} accepted by policy")
    if not quiet:
        print(f"{time.strftime('%H:%M:%S')}  {', '.join(parts) or 'nothing new'}", flush=True)
    if arrived.trouble:
        print(f"topicture: {printable(arrived.trouble)}", file=sys.stderr, flush=True)
