"""Statistics, and rows of (what, goal, measured, whether it is met)."""
import math
import statistics


def mean(values):
    return statistics.fmean(values) if values else float("nan")


def p95(values):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(0.95 * len(ordered)) - 1)] if ordered else float("nan")


def percent(share, digits=1):
    return f"{100 * share:.{digits}f} %"


def of(hits):
    """'19 of 20 (95.0 %)'"""
    hits = list(hits)
    return f"{sum(hits)} of {len(hits)} ({percent(mean(hits))})" if hits else "none"


def loss_row(what, losses, goal_mean, goal_p95):
    met = mean(losses) <= goal_mean and p95(losses) <= goal_p95
    goal = f"mean {percent(goal_mean, 2)}, p95 {percent(goal_p95, 2)}"
    measured = f"mean {percent(mean(losses), 3)}, p95 {percent(p95(losses), 3)}, worst {percent(max(losses), 2)}"
    return what, goal, measured, met
