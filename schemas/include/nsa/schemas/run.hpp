// A run owns measurements: same spec, build and environment, one owner at a time. Plain values:
// threads may share one that none of them changes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nsa/schemas/device.hpp"

namespace nsa {

/// One fact about the environment. A changed epoch fact begins a new epoch in the nightly check.
struct EnvironmentFact {
  std::string key;  // "driver", "env.NSA_PREFILL_BATCHED"
  std::string value;
  bool epoch = false;
  bool operator==(const EnvironmentFact&) const = default;
};

/// Everything that can change a time: device, driver, libraries, CPU, compiler, host, and every
/// NSA_, CUDA_, NCCL_, PYTORCH_, TORCH_, OMP_ variable. Sorted by key.
struct Environment {
  std::vector<EnvironmentFact> facts;
  bool operator==(const Environment&) const = default;
};

enum class RunState : std::uint8_t { open, complete, incomplete };
/// The enumerator's name.
std::string_view to_string(RunState value) noexcept;

struct Run {
  std::string id;  // UUID
  std::string spec_hash;
  std::string spec_json;  // the spec as it was run
  std::string build_id;   // version, git revision and compiler of the build
  std::string environment_hash;
  Environment environment;
  std::vector<Device> devices;
  std::string started_at;  // ISO 8601, UTC
  std::optional<std::string> ended_at;
  RunState state = RunState::open;
};

}  // namespace nsa
