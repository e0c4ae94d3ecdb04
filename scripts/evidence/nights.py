"""Series of nights, each tuned with the file of the night before."""
import math
import os

from . import worlds as w
from .report import mean, of


def calm_nights(bench, n, lengths, nights=30):
    """Nights without a change, each tuned with the file of the night before."""
    both = {"process_sigma": 0.003}

    def one(seed):
        world, _ = w.crossing_world(seed, 5, w.NIGHT, both, {}, lengths[-1])
        with bench.play(world, lengths) as played:
            changes, before = 0, choices(played)
            for _ in range(nights - 1):
                next_night(played)
                changes += choices(played) != before
                before = choices(played)
            return changes
    changed = bench.each(bench.seeds(max(1, n // 10)), one)
    return [(f"{nights} nights without a change: nights that changed a threshold", "0",
             f"{sum(changed)} in {len(changed)} series", sum(changed) == 0)]


def choices(played):
    return [(r["from"], r["variant"]["name"]) for r in played.ranges]


def next_night(played):
    """Sweeps again and decides with the file in use, which stays where nothing is decided."""
    played.sweep()
    played.tune("--shipped", "decided.json", output="tonight.json")
    if os.path.exists(played.path("tonight.json")):
        os.replace(played.path("tonight.json"), played.path("decided.json"))


def true_shift(bench, n, lengths):
    """At one measured length the second variant is 1 % slower; then it gets 2 % faster."""
    measured = lengths[len(lengths) // 2]
    at = measured * 2 ** (math.log(1.01) / math.log(1.10))  # where 10 % an octave have come to 1 %
    both = {"process_sigma": 0.003}

    def one(seed):
        made = w.world(seed, [w.line(**both), w.rival(-10, [at], **both)], **w.NIGHT)
        faster = w.world(seed, [w.line(**both), w.rival(-10, [at], factor=0.98, **both)], **w.NIGHT)
        with bench.play(made, lengths) as played:
            played.change(faster)
            for night in (1, 2):
                next_night(played)
                if played.choice(measured) == "second":
                    return night
            return 0
    nights = bench.each(bench.seeds(n), one)
    adopted = [night > 0 for night in nights]
    return [("a true 2 % shift adopted within two nights", "95 %", of(adopted), mean(adopted) >= 0.95)]
