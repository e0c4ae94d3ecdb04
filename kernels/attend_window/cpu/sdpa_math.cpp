// `sdpa_math`: see cpu/band/math.cpp.
#include "cpu/band/launch.hpp"

namespace nsa::attend_window {
namespace {

using Launch = cpu::BandLaunch<cpu::BandKind::window>;

}  // namespace

void sdpa_math(const LaunchArgs& args) { Launch::math(args); }
std::int64_t sdpa_math_bytes(const Problem& problem) { return Launch::math_bytes(problem); }

}  // namespace nsa::attend_window
