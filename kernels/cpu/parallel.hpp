// For the sources of the runtime, whose hash stands in the shipped thresholds: goes with the next
// sweep.
#pragma once

#include "nsa/kernels/parallel.hpp"
