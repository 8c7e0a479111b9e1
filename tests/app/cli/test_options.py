"""Options mean the same everywhere; what every command takes it takes anywhere; errors are JSON where results are."""

import json
from collections import defaultdict

import pytest
import typer

from topicture.app.cli.arguments import prepared, wants_json
from topicture.app.cli.commands import app
from topicture.app.verbs import reviewing
from topicture.app.verbs.browsing import listing
from topicture.app.verbs.upkeep.configuring import SETTINGS, checked

COMMANDS = typer.main.get_command(app).commands


def options():
    """(command, option, its names) of all there are."""
    for command, each in COMMANDS.items():
        for option in each.params:
            if option.param_type_name == "option":
                yield command, option, (*option.opts, *option.secondary_opts)


def test_short_options_mean_the_same_everywhere():
    long_of, short_of = defaultdict(set), defaultdict(set)
    for _, _, names in options():
        short = [name for name in names if not name.startswith("--")]
        long = [name for name in names if name.startswith("--")]
        for name in short:
            long_of[name].add(long[0])
        if long:
            short_of[long[0]].add(tuple(short))
    assert {name: found for name, found in long_of.items() if len(found) > 1} == {}
    assert {name: found for name, found in short_of.items() if len(found) > 1} == {}
    assert {"-n", "-c", "-t", "-o", "-q"} <= set(long_of)


def test_every_command_speaks_json_and_has_help():
    for command, each in COMMANDS.items():
        names = {name for option in each.params for name in option.opts}
        assert "--json" in names, command
        assert all(option.help for option in each.params if option.name != "context"), command


def test_every_setting_is_an_option_of_its_command():
    for command, settings in SETTINGS.items():
        own = {option.name: option for name, option, _ in options() if name == command}
        for name, setting in settings.items():
            assert name in own, f"{command}.{name}"
            default = own[name].default
            assert default is None or setting.takes(default), f"{command}.{name}"
    assert SETTINGS["review"]["order"].names == reviewing.ORDERS
    assert set(SETTINGS["list"]["order"].names) == set(listing.ORDERS)
    assert checked("[watch]\nevery = 5\n", "x") == {"watch": {"every": 5}}


OPTIONS = {"search": {"-n": True, "--limit": True, "--json": False, "-c": True, "--untagged": False}}


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("search rose -water", "search -- rose -water"),
        ("search -nature -cat -n 5 sea", "search -n 5 -- -nature -cat sea"),
        ("search -n5 rose --limit=7 --json", "search -n5 --limit=7 --json -- rose"),
        ("search --untagged -- --odd", "search --untagged -- --odd"),
        ("search", "search"),
        ("search --nonsense rose", "search --nonsense -- rose"),
        ("scan --debug -q", "scan -q"),
        ("tag a.jpg -- --debug", "tag a.jpg -- --debug"),
    ],
)
def test_arguments_as_typer_reads_them(given, read):
    arguments = prepared(given.split(), OPTIONS)
    assert arguments.given == read.split()
    assert arguments.debug == ("--debug" in given and "-- --debug" not in given)


def test_json_is_asked_for_before_the_dashes():
    assert wants_json(["search", "--json", "--", "x"])
    assert not wants_json(["search", "--", "--json"])


def test_errors_are_json_where_results_are(topicture, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, error = topicture("status", "--json")
    assert code == 2
    found = json.loads(out)["error"]
    assert found["code"] == "catalog-error"
    assert error == f"topicture: {found['message']}\n"
    code, out, _ = topicture("status", "--nonsense", "--json")
    assert (code, json.loads(out)["error"]["code"]) == (2, "usage")
    assert topicture("status")[1] == ""


def test_tracebacks_come_with_debug_anywhere(topicture, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOPICTURE_DEBUG", "0")
    assert "Traceback" in topicture("status", "--debug")[2]
    monkeypatch.setenv("TOPICTURE_DEBUG", "0")
    assert "Traceback" not in topicture("status")[2]
