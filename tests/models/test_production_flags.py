"""Model tests compile quickly and badly, with products in one thread (tests/conftest.py); here some run as users do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# One model of every kind: mixture, LDA by regions, graph, classes with a margin, stochastic steps, products alone.
GOLDEN = "mix_unigram_vb or corr_lda_eb or lapvar1_jacobi_vb or emm_d_kappa0_safe or link_lda or primitives"
MODELS = "mix-unigram or corr-lda or lap-var1 or emm-margin or link-lda or nlsa or ridge"
TWO_THREADS = {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
CONTRACT = "rows_are_distributions or objective_never_falls or same_seed or batch_changes_nothing"


@pytest.mark.slow  # compiles with all optimisations
@pytest.mark.parametrize(
    ("file", "chosen"),
    [
        ("test_golden.py", GOLDEN),
        ("test_golden_estimators.py", GOLDEN),
        ("test_contract.py", f"({MODELS}) and ({CONTRACT})"),
    ],
)
def test_models_at_production_flags(file, chosen):
    told = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "-q",
            "-n",
            "0",
            "-m",
            "",
            "-k",
            chosen,
            file,
        ],
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=900,
        # Empty, not missing: where it is missing, the suite's own flags are taken.
        env={**os.environ, **TWO_THREADS, "XLA_FLAGS": "", "PYTEST_ADDOPTS": ""},
    )
    assert told.returncode == 0, told.stdout[-5000:]
    n_passed = int(told.stdout.rpartition(" passed")[0].split()[-1])
    assert n_passed >= 5
