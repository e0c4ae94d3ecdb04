#include "cpu/memory.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>

#include "cpu/device.hpp"

namespace nsa::probes {
namespace {

/// The number that the text begins with, after blanks.
std::optional<std::int64_t> number_in(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::int64_t number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc{})
    return std::nullopt;
  return number;
}

/// Of a file of lines "key 123".
std::optional<std::int64_t> number_of(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(key + " ")) return number_in(std::string_view(line).substr(key.size()));
  return std::nullopt;
}

/// The files of a version of cgroups; those of version 1 count subgroups under names of their own.
struct CgroupFiles {
  const char *mount, *limit, *used, *inactive_cache, *active_cache;
};
constexpr CgroupFiles kVersion1{"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                "memory.usage_in_bytes", "total_inactive_file",
                                "total_active_file"};
constexpr CgroupFiles kVersion2{"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file",
                                "active_file"};

/// What a group leaves; the page cache that it is charged for is given up before anything fails.
std::optional<std::int64_t> left_by_group(const std::string& folder, const CgroupFiles& files) {
  const auto limit = number_in(system_file_line(folder + files.limit));  // "max": none
  const auto used = number_in(system_file_line(folder + files.used));
  if (!limit || !used) return std::nullopt;
  const std::string stat = system_file_text(folder + "memory.stat");
  const std::int64_t cache = number_of(stat, files.inactive_cache).value_or(0) +
                             number_of(stat, files.active_cache).value_or(0);
  return std::max<std::int64_t>(*limit - std::max<std::int64_t>(*used - cache, 0), 0);
}

/// What the group and those above it leave. A container may see its own group as the topmost one,
/// under a name that only the host has: names that are not there are passed by.
std::optional<std::int64_t> left_by_groups(const std::string& root, std::string group,
                                           const CgroupFiles& files) {
  std::optional<std::int64_t> least;
  for (;;) {
    const auto left = left_by_group(root + files.mount + group + "/", files);
    if (left) least = std::min(*left, least.value_or(*left));
    if (group.empty()) return least;
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
}

/// "4:memory:/group" of version 1, or "0::/group" of version 2.
std::optional<std::int64_t> left_by_cgroups(const std::string& root) {
  std::optional<std::int64_t> least;
  std::istringstream lines(system_file_text(root + "/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool memory = ("," + controllers + ",").find(",memory,") != std::string::npos;
    if (!controllers.empty() && !memory) continue;
    const auto left = left_by_groups(root, line.substr(second + 1), memory ? kVersion1 : kVersion2);
    if (left) least = std::min(*left, least.value_or(*left));
  }
  return least;
}

}  // namespace

std::optional<std::int64_t> available_memory_bytes(const std::string& root) {
  const auto kilobytes = number_of(system_file_text(root + "/proc/meminfo"), "MemAvailable:");
  if (!kilobytes) return std::nullopt;
  const std::int64_t machine = *kilobytes * 1024;
  return std::min(machine, left_by_cgroups(root).value_or(machine));
}

}  // namespace nsa::probes
