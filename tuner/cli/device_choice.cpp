#include "device_choice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "nsa/schemas/error.hpp"

namespace nsa::cli {

DeviceChoice choose_device(const std::vector<Device>& devices) {
  expects(!devices.empty(), "the CPU at least");
  const auto on_gpu = [](const Device& device) { return device.backend == Backend::cuda; };
  const auto gpus = std::ranges::count_if(devices, on_gpu);
  if (gpus == 0) return {devices.front(), ""};
  const Device& first = *std::ranges::find_if(devices, on_gpu);
  const std::string others =
      gpus == 1 ? "--device cpu: the CPU"
                : fmt::format("the first of {} GPUs; --device names another", gpus);
  return {first, fmt::format("device: {} ({}); {}", first.id, first.name, others)};
}

}  // namespace nsa::cli
