"""Options and fixtures of the whole suite."""

import os
from pathlib import Path

# Tests compile hundreds of small programs and run each for milliseconds: compile them quickly. Before JAX starts.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
    " --xla_cpu_parallel_codegen_split_count=1",
)

# Products in one thread: tests run in several processes, and threads that wait for each other while another process
# has their core take ten times as long. What works side by side is tested in two by test_threads.py.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Tests load onnxruntime themselves, and nothing leaves the machine of whoever runs them.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import numpy as np
import pytest
from corpora import make_tiny_corpus

# Without the emitters of fusions, which go through MLIR, a program compiles in half the time. But it may run fifty
# times as long: not for slow tests, some of which do little but run.
NO_EMITTERS = " --xla_cpu_use_fusion_emitters=false"
LAST_FLAG = "--xla_cpu_parallel_codegen_split_count=1"  # of those above, where nobody has given others


def pytest_addoption(parser):
    parser.addoption(
        "--golden-dir",
        default=str(Path(__file__).parent / "golden"),
        help="folder of golden cases (NAME.npz + NAME.json) that tests/models/test_golden.py runs",
    )


def pytest_configure(config):
    # Processes that work for this one inherit it.
    if config.getoption("markexpr") == "not slow" and os.environ["XLA_FLAGS"].endswith(LAST_FLAG):
        os.environ["XLA_FLAGS"] += NO_EMITTERS
    folder = Path(config.getoption("--golden-dir"))
    if not any(folder.glob("*.json")):
        raise pytest.UsageError(f"--golden-dir {folder}: there is no golden case (NAME.json) in it")


def pytest_itemcollected(item):
    """Tests of one file run in one process, which makes their shared fixtures and compiles their models once."""
    if item.get_closest_marker("xdist_group") is None:
        item.add_marker(pytest.mark.xdist_group(str(item.path.relative_to(item.config.rootpath))))


@pytest.fixture
def rng():
    return np.random.default_rng(20261115)


@pytest.fixture(scope="session")
def data_folder():
    """The benchmark data, where it is present."""
    folder = os.environ.get("TOPICTURE_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("data not found: TOPICTURE_DATA does not name a folder with the benchmark sets")
    return Path(folder)


@pytest.fixture
def tiny_corpus(rng):
    """Twelve images with every view, oddities included."""
    return make_tiny_corpus(rng)
