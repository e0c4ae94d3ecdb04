"""Worlds for `nsatune worker-sim`: what is true, and what noise lies over it."""
import math
import os
import random

LONGEST = 32768
# Noise of a night: of each launch, and of a clock that wanders.
NIGHT = {"noise": {"white_sigma": 0.005},
         "clock": {"correlated": {"sigma": 0.01, "lag1": 0.9}}}


def grid(per_octave=2, shortest=128, longest=LONGEST):
    """Lengths with the same step on a logarithmic axis; of two an octave, every second is no power
    of two and no multiple of a tile."""
    count = round(per_octave * math.log2(longest / shortest))
    return [round(shortest * 2 ** (i / per_octave)) for i in range(count + 1)]


def recorded_files():
    """Recorded noise by name; nothing where $NSATUNE_EXTERNAL_DATA has none."""
    folder = os.path.join(os.environ.get("NSATUNE_EXTERNAL_DATA", ""), "noise")
    if not os.environ.get("NSATUNE_EXTERNAL_DATA") or not os.path.isdir(folder):
        return {}
    return {name.removesuffix(".csv"): os.path.join(folder, name)
            for name in sorted(os.listdir(folder)) if name.endswith(".csv")}


def noises():
    """Noise of launches by name: synthetic, and every recorded one."""
    made = {"white .5 %": {"noise": {"white_sigma": 0.005}}}
    for name, path in recorded_files().items():
        made[name] = {"noise": {"recorded": {"file": path}}}
    return made


def world(seed, variants, **more):
    return {"schema_version": 1, "seed": seed, "executor": "played", "stages": ["played"],
            "state": "world.state", "variants": variants, **more}


def line(name="first", **more):
    """20 us and 50 ns a token: 26 us to 1.7 ms on the grid."""
    time = {"launch_ns": 20000, "terms": [{"ns": 50, "order": 1}]}
    return {"name": name, "time": time, "order": {"seq_len": 1}, **more}


def rival(slope_percent, crossings, name="second", factor=1.0, **more):
    time = {"relative_to": "first", "factor": factor, "slope_percent": slope_percent,
            "crossings": crossings}
    return {"name": name, "time": time, "order": {"seq_len": 1}, **more}


def scaled(name="second", factor=1.0, **more):
    """The time of the first variant, times a factor."""
    time = {"relative_to": "first", "factor": factor}
    return {"name": name, "time": time, "order": {"seq_len": 1}, **more}


def crossing(rng, longest=LONGEST):
    """A length in the middle half of the grid, evenly on the logarithmic axis, off the grid."""
    octaves = math.log2(longest / 128)
    return 128 * 2 ** rng.uniform(octaves / 4, 3 * octaves / 4)


def crossing_world(seed, slope, extra=None, both=None, second=None, longest=LONGEST):
    """Two variants, the second slower below a crossing and faster above it. `both` and `second`:
    further fields of variants; returns the world and the crossing."""
    at = crossing(random.Random(seed), longest)
    both = both or {}
    variants = [line(**both), rival(-slope, [at], **both, **(second or {}))]
    return world(seed, variants, **(extra or {})), at
