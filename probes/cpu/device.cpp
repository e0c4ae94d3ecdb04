#include "cpu/device.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <thread>

#include "cpu/memory.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::probes {
namespace {

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != std::string_view::npos;
       at = words.find(word, at + 1)) {
    const bool starts = at == 0 || words[at - 1] == ' ';
    const std::size_t end = at + word.size();
    if (starts && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

/// cpufreq where the kernel shows it; a virtual machine often shows nothing.
std::optional<double> max_clock_mhz() {
  const std::string khz = system_file_line("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
  if (khz.empty()) return std::nullopt;
  return std::strtod(khz.c_str(), nullptr) / 1000.0;
}

std::optional<std::int64_t> memory_bytes(int name) {
  const long pages = sysconf(name);
  const long page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return std::nullopt;
  return static_cast<std::int64_t>(pages) * page;
}

}  // namespace

std::string system_file_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string system_file_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::string cpuinfo_value(std::string_view cpuinfo, std::string_view key) {
  std::size_t begin = 0;
  while (begin < cpuinfo.size()) {
    const std::size_t end = std::min(cpuinfo.find('\n', begin), cpuinfo.size());
    const std::string_view line = cpuinfo.substr(begin, end - begin);
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && trimmed(line.substr(0, colon)) == key)
      return trimmed(line.substr(colon + 1));
    begin = end + 1;
  }
  return {};
}

std::string widest_isa(std::string_view flags) {
  for (const std::string_view isa : {"avx512f", "avx2", "avx", "sse4_2", "sve", "asimd"})
    if (has_word(flags, isa)) return std::string(isa);
  return {};
}

std::optional<std::int64_t> parse_cache_size(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value <= 0) return std::nullopt;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (unit.empty()) return value;
  if (unit == "K") return value << 10;
  if (unit == "M") return value << 20;
  return std::nullopt;
}

std::optional<std::int64_t> cpu_cache_bytes(int level) {
  std::optional<std::int64_t> found;
  int found_level = 0;
  for (int i = 0; i < 8; ++i) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
    if (system_file_line(folder + "type") == "Instruction") continue;
    const std::string text = system_file_line(folder + "level");
    int this_level = 0;
    std::from_chars(text.data(), text.data() + text.size(), this_level);
    const auto size = parse_cache_size(system_file_line(folder + "size"));
    if (!size || this_level <= found_level || (level != 0 && this_level != level)) continue;
    found = size;
    found_level = this_level;
  }
  return found;
}

Device cpu_device() {
  const std::string cpuinfo = system_file_text("/proc/cpuinfo");
  std::string model = cpuinfo_value(cpuinfo, "model name");
  if (model.empty()) model = cpuinfo_value(cpuinfo, "CPU implementer");
  if (model.empty()) model = "unknown CPU";
  std::string flags = cpuinfo_value(cpuinfo, "flags");
  if (flags.empty()) flags = cpuinfo_value(cpuinfo, "Features");
  // Cores that this process may use: the affinity mask counts, as for any thread pool.
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));

  Device device;
  device.name = model + " x " + std::to_string(cores);
  device.uuid = "CPU-" + hash_hex(host_name() + "\n" + model + "\n" + std::to_string(cores));
  device.multiprocessors = cores;
  device.memory_bytes = memory_bytes(_SC_PHYS_PAGES);
  device.memory_free_bytes = available_memory_bytes();
  if (!device.memory_free_bytes) device.memory_free_bytes = memory_bytes(_SC_AVPHYS_PAGES);
  device.l2_bytes = cpu_cache_bytes(0);
  device.max_clock_mhz = max_clock_mhz();
  device.isa = widest_isa(flags);
  return device;
}

}  // namespace nsa::probes
