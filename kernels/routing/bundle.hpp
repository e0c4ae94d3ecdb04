// A folder of thresholds files, one per device: only the file of this device is read as a whole.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "nsa/kernels/routing.hpp"

namespace nsa::routing {

/// The device block of a thresholds file, from its first bytes; nothing where they hold none.
std::optional<Device> read_device_block(const std::filesystem::path& file);

/// The file of this device (by name), else that of the nearest device of the same back end.
std::optional<std::filesystem::path> pick_file(const std::filesystem::path& folder,
                                               const Device& device);

}  // namespace nsa::routing
