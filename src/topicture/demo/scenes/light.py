"""Light and weather: the time of day, where the sun stands, the colours of sky, sun and haze."""

from dataclasses import dataclass

import numpy as np

__all__ = ["Colour", "Light", "draw_light", "jitter", "pick", "rgb"]

Colour = tuple[float, float, float]


@dataclass(frozen=True)
class Light:
    """What lights a scene. Colours are RGB in [0, 1]; the sun's place is in picture heights."""

    time: str  # "day", "golden", "overcast", "sunset" or "night"
    weather: str  # "clear", "fair", "cloudy", "rain" or "fog"
    sun_x: float  # across, 0 at the left edge
    sun_y: float  # down, 0 at the top
    side: float  # -1 when the left flank of things is lit, +1 for the right one
    zenith: np.ndarray
    horizon: np.ndarray
    sun: np.ndarray
    tint: np.ndarray  # what a white surface looks like in this light
    haze: np.ndarray
    haze_density: float
    contrast: float  # difference between lit and shaded flanks, 0 to 1

    @property
    def dark(self) -> bool:
        """Whether lamps and windows are lit."""
        return self.time == "night"


# zenith, horizon, sun, tint, contrast
_SKIES: dict[str, tuple[tuple[Colour, Colour, Colour, Colour, float], ...]] = {
    "day": (
        ((0.22, 0.46, 0.82), (0.72, 0.84, 0.94), (1.0, 0.98, 0.90), (1.00, 0.99, 0.96), 0.85),
        ((0.33, 0.58, 0.88), (0.80, 0.88, 0.93), (1.0, 0.98, 0.92), (1.02, 1.00, 0.97), 0.75),
        ((0.16, 0.38, 0.72), (0.60, 0.77, 0.90), (1.0, 0.97, 0.90), (0.98, 0.97, 0.95), 0.90),
    ),
    "golden": (
        ((0.40, 0.57, 0.80), (0.97, 0.87, 0.70), (1.0, 0.93, 0.72), (1.05, 0.93, 0.74), 0.95),
        ((0.50, 0.66, 0.83), (0.95, 0.90, 0.80), (1.0, 0.95, 0.80), (1.03, 0.95, 0.82), 0.80),
    ),
    "overcast": (
        ((0.60, 0.64, 0.69), (0.80, 0.82, 0.83), (0.9, 0.9, 0.9), (0.90, 0.92, 0.94), 0.25),
        ((0.54, 0.59, 0.66), (0.78, 0.80, 0.82), (0.9, 0.9, 0.9), (0.82, 0.85, 0.88), 0.25),
    ),
    "sunset": (
        ((0.24, 0.30, 0.54), (0.99, 0.62, 0.28), (1.0, 0.86, 0.52), (0.78, 0.56, 0.46), 0.70),
        ((0.42, 0.34, 0.55), (0.98, 0.48, 0.36), (1.0, 0.78, 0.50), (0.70, 0.50, 0.50), 0.60),
        ((0.62, 0.60, 0.68), (1.00, 0.80, 0.46), (1.0, 0.92, 0.62), (0.86, 0.68, 0.52), 0.75),
    ),
    "night": (
        ((0.02, 0.04, 0.13), (0.14, 0.19, 0.36), (0.80, 0.85, 0.95), (0.25, 0.30, 0.46), 0.45),
        ((0.04, 0.06, 0.17), (0.26, 0.24, 0.36), (0.85, 0.85, 0.90), (0.30, 0.31, 0.44), 0.40),
    ),
}
_SUN_HEIGHT = {
    "day": (-0.5, 0.12),
    "golden": (0.08, 0.32),
    "overcast": (-0.5, -0.2),
    "sunset": (0.30, 0.47),
    "night": (0.05, 0.25),
}


def draw_light(
    rng: np.random.Generator, time_weights: dict[str, float], wet: float = 0.08, aspect: float = 4 / 3
) -> Light:
    """Draw the light of one picture; `wet` is the chance of rain, and as much again of fog."""
    times = list(time_weights)
    weights = np.array([time_weights[time] for time in times])
    time = times[rng.choice(len(times), p=weights / weights.sum())]
    chance = rng.random()
    if time in ("overcast", "night") and chance < 2.5 * wet:
        weather = "rain"
    elif time != "sunset" and chance > 1 - wet:
        weather = "fog"
    else:
        weather = ("clear", "fair", "fair", "cloudy")[rng.integers(4)]
    palette = _SKIES[time][rng.integers(len(_SKIES[time]))]
    zenith, horizon, sun, tint = (jitter(rng, colour, 0.05) for colour in palette[:4])
    if weather == "fog":
        grey = horizon.mean() * np.array([0.98, 1.0, 1.02], np.float32)
        zenith, horizon = 0.35 * zenith + 0.65 * grey, 0.3 * horizon + 0.7 * grey
    sun_x = aspect * rng.uniform(0.08, 0.92)
    low, high = _SUN_HEIGHT[time]
    return Light(
        time=time,
        weather=weather,
        sun_x=sun_x,
        sun_y=rng.uniform(low, high),
        side=1.0 if sun_x > aspect / 2 else -1.0,
        zenith=zenith,
        horizon=horizon,
        sun=sun,
        tint=tint,
        haze=0.8 * horizon + 0.2 * zenith,
        haze_density=rng.uniform(2.2, 3.2) if weather == "fog" else rng.uniform(0.35, 0.9),
        contrast=palette[4] * (0.4 if weather == "fog" else 1.0),
    )


def rgb(red: float, green: float, blue: float) -> np.ndarray:
    """A colour one can calculate with, (3,) float32."""
    return np.array([red, green, blue], np.float32)


def jitter(rng: np.random.Generator, colour: Colour | np.ndarray, amount: float) -> np.ndarray:
    """The colour with its brightness and each of its channels varied by about `amount`."""
    factors = 1 + amount * rng.uniform(-1, 1) + 0.6 * amount * rng.uniform(-1, 1, 3)
    return np.clip(np.asarray(colour) * factors, 0, 1.2).astype(np.float32)


def pick(rng: np.random.Generator, colours: tuple[Colour, ...], amount: float = 0.08) -> np.ndarray:
    """One of the colours, varied."""
    return jitter(rng, colours[rng.integers(len(colours))], amount)
