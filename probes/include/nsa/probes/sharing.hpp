// Who else uses a device.
#pragma once

#include <cstdint>
#include <optional>

#include "nsa/schemas/device.hpp"

namespace nsa::probes {

/// Processes that compute on a CUDA device now, ours included, by NVML; nothing where it does not
/// tell. Takes about a millisecond. Not for several threads at once.
std::optional<std::int64_t> compute_processes(const Device& device);

}  // namespace nsa::probes
