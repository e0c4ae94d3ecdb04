// What the tests of CUPTI share.
#pragma once

#include "gpu.hpp"
#include "nsa/probes/activity.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::test {

/// A device with a CUPTI that nobody holds (a sanitizer does); else the reason is printed.
inline std::optional<Device> gpu_with_cupti() {
  auto device = gpu_or_skip();
  if (!device) return device;
  try {
    const probes::ActivitySession session;
    return device;
  } catch (const EnvironmentError& error) {
    WARN("skipped: " << error.what());
    return std::nullopt;
  }
}

}  // namespace nsa::test
