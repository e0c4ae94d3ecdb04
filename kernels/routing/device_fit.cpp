// How well a table of one device serves another, and which of its validators still hold.
#include <cmath>
#include <cstdio>

#include "nsa/kernels/routing.hpp"

namespace nsa {
namespace {

constexpr std::int64_t kMegabyte = 1000 * 1000;

template <class T>
std::string text_of(const std::optional<T>& value) {
  return value ? std::to_string(*value) : std::string();
}

/// Whole watts: drivers report the limit with different rounding.
std::string watts(const std::optional<double>& value) {
  return value ? std::to_string(std::llround(*value)) : std::string();
}

/// The kernels of a CPU are as fast as the compiler made them.
std::string compiler() { return __VERSION__; }

Holds holds_of(const std::string& recorded, const std::string& here) {
  if (recorded.empty() || here.empty()) return Holds::unknown;
  return recorded == here ? Holds::yes : Holds::no;
}

}  // namespace

Validators validators_of(const Device& device) {
  Validators v;
  v.device_name = device.name;
  v.compute_capability = text_of(device.compute_capability);
  v.multiprocessors = text_of(device.multiprocessors);
  // In whole megabytes: what a driver reserves for itself differs by some bytes between boots.
  if (device.memory_bytes) {
    v.memory_bytes = std::to_string(*device.memory_bytes / kMegabyte * kMegabyte);
  }
  if (device.mig) v.mig = *device.mig ? "on" : "off";
  v.power_limit_w = watts(device.power_limit_w);
  v.driver = device.driver;
  v.runtime = device.runtime;
  v.compiler = compiler();
  return v;
}

std::vector<ValidatorCheck> check_validators(const Validators& recorded, const Validators& here) {
  std::vector<ValidatorCheck> checks;
  const auto add = [&](std::string_view name, std::string Validators::*field) {
    checks.push_back({name, recorded.*field, here.*field, holds_of(recorded.*field, here.*field)});
  };
  add("device_name", &Validators::device_name);
  add("compute_capability", &Validators::compute_capability);
  add("multiprocessors", &Validators::multiprocessors);
  add("memory_bytes", &Validators::memory_bytes);
  add("mig", &Validators::mig);
  add("power_limit_w", &Validators::power_limit_w);
  add("driver", &Validators::driver);
  add("runtime", &Validators::runtime);
  add("compiler", &Validators::compiler);
  add("measurement_policy", &Validators::measurement_policy);
  return checks;
}

DeviceFit fit_of(const Device& decided_on, const Device& here) noexcept {
  if (decided_on.backend != here.backend) return DeviceFit::built_in;
  const bool same_partition = decided_on.mig.value_or(false) == here.mig.value_or(false);
  const bool same_size = !decided_on.multiprocessors || !here.multiprocessors ||
                         *decided_on.multiprocessors == *here.multiprocessors;
  if (!here.name.empty() && decided_on.name == here.name && same_partition && same_size) {
    return DeviceFit::exact;
  }
  const bool same_architecture =
      here.backend == Backend::cuda
          ? here.compute_capability && decided_on.compute_capability == here.compute_capability
          : !here.isa.empty() && decided_on.isa == here.isa;
  return same_architecture ? DeviceFit::same_architecture : DeviceFit::nearest;
}

}  // namespace nsa
