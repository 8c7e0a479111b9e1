"""Golden cases: every model against stored inputs and outputs.

`pytest tests/models/test_golden.py --golden-dir DIR` runs any folder of the format of tests/golden/README.md. A
case names its model; the runner of model `key` is `run(case)` in `golden_<key>.py` beside this file and returns the
outputs by name. A model without a runner, a case without arrays and an output that the runner leaves out all fail.
"""

import json
from importlib import import_module, util
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Case(NamedTuple):
    name: str
    key: str
    config: dict
    inputs: dict[str, np.ndarray]
    outputs: dict[str, np.ndarray]
    tolerance: dict[str, list[float]]


def read_case(path: Path) -> Case:
    header = json.loads(path.read_text())
    with np.load(path.with_suffix(".npz"), allow_pickle=False) as arrays:
        inputs = {name[3:]: arrays[name] for name in arrays.files if name.startswith("in_")}
        outputs = {name[4:]: arrays[name] for name in arrays.files if name.startswith("out_")}
    return Case(
        header["case"],
        Path(header["reference"]).stem,
        header["config"],
        inputs,
        outputs,
        header["tolerance_rtol_atol"],
    )


def compare(name: str, got, expected: np.ndarray, rtol: float, atol: float) -> str | None:
    """None if they agree by the rule of the format: |x - y| <= atol + rtol |y|; integers and infinities exactly."""
    got = np.asarray(got)
    if got.shape != expected.shape:
        return f"{name}: shape {got.shape}, expected {expected.shape}"
    if expected.dtype.kind in "iub":
        return None if np.array_equal(got, expected) else f"{name}: {got} is not exactly {expected}"
    finite = np.isfinite(expected)
    if not np.array_equal(got[~finite], expected[~finite], equal_nan=True):
        return f"{name}: infinities or NaN differ"
    error = np.abs(got[finite] - expected[finite]) - (atol + rtol * np.abs(expected[finite]))
    if error.size and not error.max() <= 0:
        return f"{name}: off by {np.abs(got[finite] - expected[finite]).max():.3g} (rtol {rtol}, atol {atol})"
    return None


def pytest_generate_tests(metafunc):
    folder = Path(metafunc.config.getoption("--golden-dir"))
    paths = sorted(path for path in folder.glob("*.json"))
    metafunc.parametrize("path", paths, ids=[path.stem for path in paths])


def test_golden(path):
    case = read_case(path)
    module = f"golden_{case.key}"
    assert util.find_spec(module), f"{case.name}: no runner tests/models/{module}.py"
    got = import_module(module).run(case)
    missing = set(case.outputs) - set(got)
    assert not missing, f"{case.name}: the runner does not give {sorted(missing)}"
    assert case.outputs, f"{case.name}: the case holds no output"
    default = case.tolerance["default"]
    faults = [
        compare(name, got[name], expected, *case.tolerance.get(name, default))
        for name, expected in case.outputs.items()
    ]
    assert not any(faults), "\n".join(fault for fault in faults if fault)
