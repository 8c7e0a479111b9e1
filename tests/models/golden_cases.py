"""Golden cases as values: how they are found, read and compared (the format of tests/golden/README.md)."""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest


class Case(NamedTuple):
    name: str
    key: str
    config: dict
    inputs: dict[str, np.ndarray]
    outputs: dict[str, np.ndarray]
    tolerance: dict[str, list[float]]


def parametrize_by_case(metafunc, more_are_slow=False):
    """One test per case of the folder that --golden-dir names; if wanted, those after a model's first are slow."""
    params, seen = [], set()
    for path in sorted(Path(metafunc.config.getoption("--golden-dir")).glob("*.json")):
        key = json.loads(path.read_text())["reference"]
        marks = [pytest.mark.slow] if more_are_slow and key in seen else []
        params.append(pytest.param(path, id=path.stem, marks=marks))
        seen.add(key)
    metafunc.parametrize("path", params)


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


def assert_close(case: Case, got: dict) -> None:
    """Every given output is the expected one, by the case's tolerances."""
    default = case.tolerance["default"]
    faults = [
        compare(name, value, case.outputs[name], *case.tolerance.get(name, default))
        for name, value in got.items()
    ]
    assert not any(faults), "\n".join(fault for fault in faults if fault)


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
