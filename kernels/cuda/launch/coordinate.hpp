// The point of a launch.
#pragma once

#include <cstdint>
#include <string_view>

#include "nsa/kernels/launch.hpp"

namespace nsa::cuda {

/// Value of the point's coordinate `name`, or, in a launch whose point does not name it,
/// `fallback`.
inline std::int64_t coordinate(const LaunchArgs& args, std::string_view name,
                               std::int64_t fallback) {
  for (const auto& [given, value] : args.point) {
    if (given == name) return value;
  }
  return fallback;
}

}  // namespace nsa::cuda
