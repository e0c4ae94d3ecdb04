// The NVIDIA driver's library: its name, and its version before anything is made of it.
#pragma once

#include <array>
#include <string>

#include "machine/dynamic_library.hpp"

namespace nsa::probes {

inline constexpr std::array kDriverFiles{"libcuda.so.1"};

/// The CUDA version that the opened driver supports, as 13020; 0 where it does not say.
inline int driver_version(const DynamicLibrary& driver) {
  auto* version_of = driver.function<int(int*)>("cuDriverGetVersion");
  int version = 0;
  return version_of && version_of(&version) == 0 ? version : 0;
}

/// 13020 -> "13.2"
inline std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace nsa::probes
