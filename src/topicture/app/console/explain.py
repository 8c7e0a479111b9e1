"""An explanation in short, for a terminal. Words are printed as text, never as markup."""

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from topicture.app.counting import counted
from topicture.app.explain.explanation import ExplainedTopics, Explanation
from topicture.app.explain.sentences import sentences
from topicture.collection.words import printable

__all__ = ["print_explanation"]

SHOWN_MODELS, SHOWN_TOPICS, SHOWN_WORDS = 2, 6, 6


def print_explanation(explanation: Explanation, page: str) -> None:
    """What the model is, its largest topics, what it finds well and badly, and where the page is."""
    e, console = explanation, Console()
    print(
        f"{e.model} {printable(e.folder)}: {counted(e.n_words, 'word')}, learned from {e.learned_tagged} tagged photos "
        f"of {e.photos}."
    )
    if len(e.members) > 1:
        print(
            "Weights: "
            + ", ".join(f"{name} {share:.0%}" for name, share in e.members if share is not None)
            + "."
        )
    for model in e.topic_models[:SHOWN_MODELS]:
        console.print(_topics(model))
    if more := e.topic_models[SHOWN_MODELS:]:
        print(f"The page also has the topics of {', '.join(model.model for model in more)}.")
    say = sentences(e)
    parts = (
        "tags",
        "differing",
        "promises",
        "completeness",
        "words",
        "confusions",
        "calibration",
        "learning",
        "time",
    )
    for line in (say[part] for part in parts if say[part]):
        print(printable(line))
    print(f"Page: {printable(page)}")


def _topics(model: ExplainedTopics) -> Table:
    axes = model.kind == "components"
    title = f"{'Axes' if axes else 'Topics'} of {model.model}"
    table = Table(title=title, title_justify="left", title_style="", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("axis" if axes else "topic", justify="right")
    table.add_column("one end" if axes else "share", overflow="fold")
    table.add_column("other end" if axes else "words", overflow="fold")
    for topic in model.topics[:SHOWN_TOPICS]:
        words = _words(topic.words)
        if axes:
            table.add_row(str(topic.number + 1), words, _words(topic.opposite_words))
        else:
            table.add_row(str(topic.number + 1), f"{topic.weight:.0%}", words)
    return table


def _words(words: tuple[tuple[str, float], ...]) -> Text:
    return Text(", ".join(printable(word) for word, _ in words[:SHOWN_WORDS]))
