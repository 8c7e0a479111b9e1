"""Fits that would take too long are stopped, as soon as that can be foreseen."""

import pytest

from topicture.models.baselines.one_view import Step
from topicture.models.blends.limits import time_limit
from topicture.models.blends.limits.time_limit import OutOfTime, TimeLimit


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass only when told."""

    class Clock:
        now = 0.0

    monkeypatch.setattr(time_limit, "perf_counter", lambda: Clock.now)
    return Clock


def steps_until_stopped(limit, clock, total, seconds_a_step, n_steps=1000):
    for done in range(1, n_steps + 1):
        clock.now += seconds_a_step
        try:
            limit(Step(done, total))
        except OutOfTime:
            return done
    return None


def test_a_known_number_of_steps_is_foretold(clock):
    assert steps_until_stopped(TimeLimit(50.0), clock, total=1000, seconds_a_step=0.1) == 11


def test_what_fits_is_not_stopped(clock):
    assert steps_until_stopped(TimeLimit(101.0), clock, total=1000, seconds_a_step=0.1) is None


def test_a_slow_first_step_is_not_taken_for_the_rule(clock):
    limit = TimeLimit(20.0)
    clock.now += 5.0  # compiles
    limit(Step(1, 100))
    assert steps_until_stopped(limit, clock, 100, 0.01, n_steps=99) is None


def test_an_unknown_number_of_steps_ends_when_the_time_is_up(clock):
    assert steps_until_stopped(TimeLimit(5.05), clock, total=None, seconds_a_step=0.1) == 51


def test_others_are_told_too(clock):
    heard = []
    TimeLimit(1.0, heard.append)("anything")
    assert heard == ["anything"]
