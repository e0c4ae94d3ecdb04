// How much memory a program may still take on this machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace nsa::probes {

/// Bytes that can be allocated without swapping: what the kernel calls available, which counts page
/// cache that it would give up, and no more than the memory cgroups of this process leave. Reads
/// /proc and /sys below `root`; nothing where they do not say.
std::optional<std::int64_t> available_memory_bytes(const std::string& root = "");

}  // namespace nsa::probes
