"""Programs use all cores; what the user set stays."""

import os
import subprocess
import sys

import pytest

FLAG = "--xla_force_host_platform_device_count"
SHOW = (
    "from topicture.app.cli.own_process import use_all_cores; use_all_cores(); "
    "import jax; print(jax.local_device_count())"
)


def devices(flags: str | None) -> int:
    environment = {key: value for key, value in os.environ.items() if key != "XLA_FLAGS"}
    environment["JAX_PLATFORMS"] = "cpu"
    if flags is not None:
        environment["XLA_FLAGS"] = flags
    return int(
        subprocess.run([sys.executable, "-c", SHOW], env=environment, capture_output=True, check=True).stdout
    )


@pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity"), reason="the system does not tell which cores are ours"
)
def test_one_device_a_core():
    assert devices(None) == min(len(os.sched_getaffinity(0)), 8)


def test_the_users_choice_stays():
    assert devices(f"{FLAG}=3") == 3
