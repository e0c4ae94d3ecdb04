// The CPU as a device, as the system describes it, and its clock.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "nsa/probes/probes.hpp"
#include "nsa/schemas/device.hpp"

namespace nsa::probes {

Device cpu_device();
/// Value of the first `key : value` line of /proc/cpuinfo's text, or empty.
std::string cpuinfo_value(std::string_view cpuinfo, std::string_view key);
/// Widest vector instructions in a flags line: "avx512f", "avx2", "avx", "sse4_2", "asimd", or "".
std::string widest_isa(std::string_view flags);
/// Bytes of a sysfs cache size such as "2048K" or "480M"; nothing when it is not one.
std::optional<std::int64_t> parse_cache_size(std::string_view text);
/// Bytes of the data cache of that level of core 0, largest level when `level` is 0.
std::optional<std::int64_t> cpu_cache_bytes(int level);
/// First line of a small system file, without the newline; empty when it cannot be read.
std::string system_file_line(const std::string& path);
/// The whole of it.
std::string system_file_text(const std::string& path);
std::string host_name();

std::int64_t monotonic_ns() noexcept;
std::unique_ptr<LaunchTimer> make_cpu_timer(const Device& device);

}  // namespace nsa::probes
