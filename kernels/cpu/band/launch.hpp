// What the rows of a branch with one run of keys launch on the CPU, compiled once for the window
// and once for the compressed keys: in q, k, v; out o; log-sum-exp where the caller saves it. The
// bytes are bounds of what a launch takes.
#pragma once

#include "cpu/band/band.hpp"

namespace nsa::cpu {

// math.cpp
template <BandKind kKind>
void launch_band_math(const LaunchArgs& args);
template <BandKind kKind>
std::int64_t launch_band_math_bytes(const Problem& problem);

// blocked.cpp
template <BandKind kKind, Layout kLayout>
void launch_band_blocked(const LaunchArgs& args);
template <BandKind kKind, Layout kLayout>
std::int64_t launch_band_blocked_bytes(const Problem& problem);

}  // namespace nsa::cpu
