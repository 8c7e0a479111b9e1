"""What tests of the commands share."""

import sys

import pytest

from topicture.app.cli.main import main
from topicture.app.learning import annotating


@pytest.fixture
def topicture(monkeypatch, capsys):
    """Run a command in this process: (exit code, standard output, standard error)."""

    def run(*arguments, catalog=None):
        monkeypatch.setattr(sys, "argv", ["topicture", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "100")
        if catalog is not None:
            monkeypatch.setenv("TOPICTURE_CATALOG", str(catalog))
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code or 0, *capsys.readouterr()

    return run


@pytest.fixture
def looked_at(monkeypatch):
    """How many photos `annotate` has looked at, each time; it leaves out those that it need not look at again."""
    found = []
    look_at = annotating.look_at

    def counting(catalog, images, *rest, **options):
        found.append(len(images))
        return look_at(catalog, images, *rest, **options)

    monkeypatch.setattr(annotating, "look_at", counting)
    return found
