"""Every command, option, setting, public name and model is documented; and what is added without is noticed."""

import importlib
import pkgutil
import re
import sys
from pathlib import Path

import pytest
import typer
import typer.main

import topicture
import topicture.search
from topicture import make_annotator, model_names
from topicture.app.cli.commands import app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "site"))
import make_reference  # noqa: E402

sys.path.remove(str(DOCS / "site"))
AGAIN = "run python docs/site/make_reference.py"


def text(name):
    return (DOCS / name).read_text(encoding="utf-8")


def undocumented_commands(root, page):
    """Commands and options that a page does not name where it should."""
    sections = dict(re.findall(r"^## ([\w-]+)\n(.*?)(?=^## |\Z)", page, flags=re.MULTILINE | re.DOTALL))
    missing = []
    for name, command in make_reference.commands(root):
        if name not in sections:
            missing.append(name)
            continue
        for parameter in command.params:
            if parameter.param_type_name == "option" and not getattr(parameter, "hidden", False):
                options = [*parameter.opts, *parameter.secondary_opts]
                missing += [f"{name} {option}" for option in options if f"`{option}`" not in sections[name]]
    return missing


def public_names(package):
    """The names that a package and those in it promise in the `__all__` of their `__init__`."""
    names = set()
    modules = [
        package.__name__,
        *(m.name for m in pkgutil.walk_packages(package.__path__, f"{package.__name__}.") if m.ispkg),
    ]
    for module in modules:
        names |= {f"{module}.{name}" for name in getattr(importlib.import_module(module), "__all__", ())}
    return names


def undocumented_names(names, page):
    """Public names that have no place on the page; a name of the front door may be told there alone."""
    front = {"Corpus", "Vocabulary"}  # of topicture.corpus
    listed = set(re.findall(r"^ +(topicture\.[\w.]+)$|`(topicture\.[\w.]+)`", page, flags=re.MULTILINE))
    told = {name for pair in listed for name in pair if name}
    return sorted(
        name for name in names - told if not (name.rpartition(".")[2] in front and name.count(".") > 1)
    )


def test_the_page_of_commands_is_what_the_program_says():
    root = typer.main.get_command(app)
    assert undocumented_commands(root, text("commands.md")) == []
    assert text("commands.md") == make_reference.command_page(root), AGAIN


def test_every_option_says_what_it_does():
    assert not re.findall(r"^\| .* \|  \|$", text("commands.md"), flags=re.MULTILINE)


def test_the_page_of_settings_is_what_the_models_say():
    page = make_reference.settings_page({name: make_annotator(name) for name in model_names()})
    assert text("settings.md") == page, AGAIN
    assert not re.findall(r"^\| .* \|  \|$", page, flags=re.MULTILINE), "a setting without a word about it"


def test_every_environment_variable_is_a_setting():
    used = {
        name
        for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "experiments" / "src").rglob("*.py")]
        for name in re.findall(r"TOPICTURE_[A-Z]+", path.read_text(encoding="utf-8"))
    }
    assert {name for name in used if f"`{name}`" not in text("settings.md")} == set()


def test_every_public_name_has_a_page():
    assert undocumented_names(public_names(topicture), text("api.md")) == []
    assert text("api.md") == make_reference.api_page(), AGAIN


def test_every_model_has_a_gallery_script():
    scripts = "".join(path.read_text(encoding="utf-8") for path in DOCS.glob("gallery/*/plot_*.py"))
    classes = {name: type(make_annotator(name)).__name__ for name in model_names()}
    assert [
        name for name in classes if f'"{name}"' not in scripts and f"{classes[name]}(" not in scripts
    ] == []


# --- The tests notice what is added --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "option", "missing"),
    [("frobnicate", "--json", ["frobnicate"]), ("scan", "--frobnicate", ["scan --frobnicate"])],
)
def test_a_command_or_option_that_is_added_is_noticed(command, option, missing):
    more = typer.Typer()

    @more.command(command)
    def added(value: str = typer.Option("", option, help="New.")) -> None: ...

    @more.command("status")
    def known() -> None: ...

    assert undocumented_commands(typer.main.get_command(more), text("commands.md")) == missing


def test_a_public_name_that_is_added_is_noticed(monkeypatch):
    monkeypatch.setattr(topicture, "__all__", [*topicture.__all__, "frobnicate"])
    monkeypatch.setattr(topicture.search, "__all__", [*topicture.search.__all__, "Frobnicator"])
    added = undocumented_names(public_names(topicture), text("api.md"))
    assert added == ["topicture.frobnicate", "topicture.search.Frobnicator"]


def test_a_setting_that_is_added_is_noticed(monkeypatch):
    model = make_annotator("empirical")
    before = make_reference.settings_page({"empirical": model})
    monkeypatch.setattr(model, "get_params", lambda deep: {"pseudo_count": 0.0, "frobnicate": 1})
    after = make_reference.settings_page({"empirical": model})
    assert before != after
    assert re.findall(r"^\| `frobnicate` \| `1` \|  \|$", after, flags=re.MULTILINE)
