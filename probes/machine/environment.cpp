#include "machine/environment.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

#include "cpu/device.hpp"
#include "nsa/probes/probes.hpp"

namespace nsa::probes {
namespace {

/// Collects facts. What was not read is not there, so that it differs from any value.
struct Facts {
  std::vector<EnvironmentFact> all;
  void add(std::string key, std::string value, bool epoch) {
    if (!value.empty()) all.push_back({std::move(key), std::move(value), epoch});
  }
  template <class Number>
  void add(std::string key, const std::optional<Number>& value, bool epoch) {
    if (value) add(std::move(key), std::to_string(*value), epoch);
  }
};

/// What is fixed about a device: everything but the free memory. A power limit, ECC or MIG setting
/// changes how fast it is, so a change of it begins a new epoch.
void add_device(Facts& facts, const Device& device) {
  const std::string prefix = "device." + device.id + ".";
  facts.add(prefix + "name", device.name, true);
  facts.add(prefix + "uuid", device.uuid, true);
  facts.add(prefix + "compute_capability", device.compute_capability, true);
  facts.add(prefix + "multiprocessors", device.multiprocessors, true);
  // A virtual machine's own memory may grow as it is used, and does not change how fast it is.
  if (device.backend != Backend::cpu) facts.add(prefix + "memory_bytes", device.memory_bytes, true);
  facts.add(prefix + "l2_bytes", device.l2_bytes, true);
  facts.add(prefix + "power_limit_w", device.power_limit_w, true);
  facts.add(prefix + "max_clock_mhz", device.max_clock_mhz, true);
  facts.add(prefix + "mig", device.mig, true);
  facts.add(prefix + "ecc", device.ecc, true);
  facts.add(prefix + "isa", device.isa, true);
  facts.add(prefix + "driver", device.driver, true);
  facts.add(prefix + "runtime", device.runtime, true);
}

void add_host(Facts& facts) {
  facts.add("host.name", host_name(), true);
  utsname system{};
  if (uname(&system) == 0) {
    facts.add("host.kernel", std::string(system.sysname) + " " + system.release, true);
    facts.add("host.architecture", system.machine, true);
  }
  facts.add("cpu.governor",
            system_file_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"), true);
}

/// Which devices of several are shown does not change how fast one is; it is a fact all the same.
bool begins_epoch(std::string_view variable) {
  return variable != "CUDA_VISIBLE_DEVICES" && variable != "CUDA_CACHE_PATH" &&
         variable != "CUDA_HOME" && variable != "CUDA_PATH";
}

void add_variables(Facts& facts) {
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    if (!belongs_to_fingerprint(name)) continue;
    // Set to nothing is not the same as not set.
    facts.all.push_back(
        {"env." + std::string(name), std::string(text.substr(equals + 1)), begins_epoch(name)});
  }
}

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

}  // namespace

bool belongs_to_fingerprint(std::string_view variable) {
  constexpr std::array<std::string_view, 6> kPrefixes{"NSA_",     "CUDA_",  "NCCL_",
                                                      "PYTORCH_", "TORCH_", "OMP_"};
  return variable == "NSATUNE_THREADS" ||
         std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return variable.starts_with(prefix); });
}

Environment environment_fingerprint(const std::vector<Device>& devices) {
  Facts facts;
  for (const Device& device : devices) add_device(facts, device);
  add_host(facts);
  facts.add("compiler", compiler(), true);
  for (const Capability& library : capabilities())
    if (library.usable) facts.add("library." + library.library, library.version, true);
  add_variables(facts);
  std::sort(facts.all.begin(), facts.all.end(),
            [](const EnvironmentFact& a, const EnvironmentFact& b) { return a.key < b.key; });
  return {std::move(facts.all)};
}

}  // namespace nsa::probes
