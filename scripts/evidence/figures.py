"""All figures by name. Each takes a Bench, the number of worlds a cell and the lengths to measure."""
from .costs import economy, framework, many_rows
from .intervals import coverage, identical, two_tunings
from .losses import off_grid, on_grid, three_crossings
from .nights import calm_nights, true_shift

ALL = {f.__name__: f for f in (on_grid, three_crossings, coverage, two_tunings, identical, calm_nights,
                               true_shift, off_grid, economy, framework, many_rows)}
