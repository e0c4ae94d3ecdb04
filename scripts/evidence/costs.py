"""What measuring and deciding cost."""
import math
import random
import statistics

from . import worlds as w
from .play import Played
from .report import mean, p95, percent


def economy(bench, n, lengths):
    """Device seconds until the ratio of two variants is known to .5 %, of which nvbench's rule
    takes half a second a variant at least (its --min-time)."""
    nvbench_s = 2 * 0.5

    def one(seed):
        rng = random.Random(seed)
        made = w.world(seed, [w.line(), w.scaled(factor=rng.uniform(0.98, 1.02))],
                       clock=w.NIGHT["clock"], noise={"white_sigma": 0.005})
        with bench.play(made, [1600], {"processes": 5}) as played:  # 100 us
            widths = [(r["evidence"]["ratio_high"] - r["evidence"]["ratio_low"]) / 2
                      for r in played.ranges if "ratio_low" in r["evidence"]]
            return played.device_s(), max(widths, default=math.inf)
    results = bench.each(bench.seeds(n), one)
    share, width = mean([s for s, _ in results]) / nvbench_s, p95([width for _, width in results])
    return [("economy, five processes: device seconds of nvbench's rule, half-width", "a third, .5 %",
             f"{percent(share)}, p95 of the half-width {percent(width, 2)}",
             share <= 1 / 3 and width <= 5e-3)]


def framework(bench, n, lengths):
    """What the harness takes of the wall time that a sweep of 100 us kernels had on a device."""
    def one(seed):
        made = w.world(seed, [w.line(), w.scaled(factor=1.001)], noise={"white_sigma": 0.005})
        with bench.play(made, [1600], {"min_rounds": 20}) as played:
            breakdown = played.swept["time_breakdown"]
            return breakdown["framework_s"] / (breakdown["wall_s"] + played.device_s())
    shares = [one(seed) for seed in bench.seeds(min(n, 5))]  # one at a time: this is wall time
    middle = statistics.median(shares)
    return [("framework's share of the wall, 100 us kernels", "5 %", percent(middle), middle <= 0.05)]


def many_rows(bench, n, lengths):
    """tune on 257 lengths x 24 variants, 100,000 rows."""
    variants = [w.line()] + [w.scaled(f"v{i}", 1 + 0.01 * i) for i in range(23)]
    many = [128 + 100 * i for i in range(257)]
    policy = {"processes": 1, "min_rounds": 8, "max_rounds": 8, "control": False, "race": False}
    made = w.world(1, variants, noise={"white_sigma": 0.005})
    with Played(bench, made, many, policy) as played:
        played.sweep()
        times = []
        for _ in range(3):
            played.tune()
            times.append(played.tune_s)
        return [(f"tune on {played.swept['rows']:,} rows", "2 s", f"{min(times):.2f} s", min(times) <= 2)]
