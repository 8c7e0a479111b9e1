"""What tests of the commands share."""

import sys

import pytest

from topicture.app.cli.main import main


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
