"""Golden cases: every model against stored inputs and outputs.

`pytest tests/models/test_golden.py --golden-dir DIR` runs any folder of the format of tests/golden/README.md. A
case names its model; the runner of model `key` is `run(case)` in `golden_<key>.py` beside this file and returns the
outputs by name. A model without a runner, a case without arrays, an output that the runner leaves out and a folder
without any case all fail.
"""

import os
import subprocess
import sys
from importlib import import_module, util
from pathlib import Path

import pytest
from golden_cases import assert_close, parametrize_by_case, read_case


def pytest_generate_tests(metafunc):
    if "path" in metafunc.fixturenames:
        parametrize_by_case(metafunc)


def test_golden(path):
    case = read_case(path)
    module = f"golden_{case.key}"
    assert util.find_spec(module), f"{case.name}: no runner tests/models/{module}.py"
    got = import_module(module).run(case)
    missing = set(case.outputs) - set(got)
    assert not missing, f"{case.name}: the runner does not give {sorted(missing)}"
    assert case.outputs, f"{case.name}: the case holds no output"
    assert_close(case, {name: got[name] for name in case.outputs})


@pytest.mark.parametrize("folder", ["empty", "misspelt"])
def test_a_folder_without_cases_is_refused(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-n", "0"]
    asked = subprocess.run(
        [*command, str(Path(__file__)), "--golden-dir", str(tmp_path / folder)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
    )
    assert asked.returncode == pytest.ExitCode.USAGE_ERROR, asked.stdout + asked.stderr
    assert str(tmp_path / folder) in asked.stderr
