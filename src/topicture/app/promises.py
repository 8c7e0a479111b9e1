"""What people's answers have shown of the probabilities that stood beside suggestions."""

from topicture.app.counting import counted
from topicture.store import Catalog
from topicture.store.decisions.promises import Promises, answered_promises

__all__ = ["FEWEST_TOLD", "promises_line", "promises_told"]

FEWEST_TOLD = 20  # below which a share says nothing


def promises_told(catalog: Catalog) -> Promises | None:
    """What was promised of suggestions that were answered, and what came true; None: too few were."""
    found = answered_promises(catalog.database)
    return found if found is not None and found.answers >= FEWEST_TOLD else None


def promises_line(found: Promises) -> str:
    """The same in a line. Who answers chooses what to answer, so it claims nothing of other suggestions."""
    return (
        f"Of {counted(found.answers, 'answer')} about suggestions, {found.promised:.0%} were promised and "
        f"{found.came_true:.0%} came true."
    )
