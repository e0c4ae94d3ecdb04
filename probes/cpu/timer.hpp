// The CPU's timer: CLOCK_MONOTONIC around the launch.
#pragma once

#include <cstdint>
#include <memory>

#include "nsa/probes/probes.hpp"

namespace nsa::probes {

std::int64_t monotonic_ns() noexcept;
std::unique_ptr<LaunchTimer> make_cpu_timer(const Device& device);

}  // namespace nsa::probes
