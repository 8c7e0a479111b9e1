"""One setting says which hardware the models use."""

import os

import jax
import numpy as np
import pytest

import topicture
from topicture import devices
from topicture.app.cli.commands import app
from topicture.errors import TopictureError
from topicture.models.em.passes import precision


@pytest.fixture(autouse=True)
def restored(monkeypatch):
    monkeypatch.delenv(devices.VARIABLE, raising=False)


def test_the_processor_may_be_chosen(monkeypatch):
    monkeypatch.setenv(devices.VARIABLE, "")  # restored afterwards
    topicture.use_device("cpu")
    assert os.environ[devices.VARIABLE] == "cpu"
    assert devices.on_cpu()
    with precision():
        assert jax.device_put(np.zeros(1)).devices() == {jax.local_devices(backend="cpu")[0]}
    assert devices.found().endswith("as TOPICTURE_DEVICE=cpu asks")
    topicture.use_device(None)
    assert devices.VARIABLE not in os.environ
    assert devices.devices() == jax.local_devices()


@pytest.mark.parametrize("device", ["tpu", "CPU", "../x"])
def test_other_names_are_refused(device):
    with pytest.raises(TopictureError, match="choose cpu or gpu"):
        topicture.use_device(device)
    assert devices.VARIABLE not in os.environ


def test_a_device_that_is_not_there_is_told(monkeypatch):
    def none(backend=None):
        raise RuntimeError("Unknown backend")

    monkeypatch.setattr(jax, "local_devices", none)
    with pytest.raises(TopictureError, match="JAX finds none here"):
        topicture.use_device("gpu")


def test_the_tool_takes_the_same_setting(monkeypatch):
    from typer.testing import CliRunner

    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    told = CliRunner().invoke(app, ["--device", "tpu", "doctor"])
    assert isinstance(told.exception, TopictureError)
    told = CliRunner().invoke(app, ["--device", "cpu", "doctor"])
    assert "JAX on cpu" in told.output
    assert "TOPICTURE_DEVICE=cpu" in told.output.replace("\n", " ")
