// What each stage of a model holds in memory, by arithmetic over what would run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program.hpp"
#include "run/options.hpp"

namespace nsa::cli {

struct MemoryOptions {
  RunOptions run;
  std::vector<std::int64_t> batches{1, 2, 4, 8};
};

using Bytes = std::vector<std::optional<std::int64_t>>;  // by batch; nothing: no row runs it

struct StageMemory {
  std::string stage, variant;
  Bytes workspace, outputs;
};

struct Memory {
  Device device;
  RunPlan plan;
  std::vector<std::int64_t> batches, cache_bytes;
  std::int64_t weights_bytes = 0;
  std::vector<StageMemory> stages;
};

/// Of the device of `settings`, with the rows that its router chooses. InputError as for run.
Memory memory_of(const Settings& settings, const MemoryOptions& options);

}  // namespace nsa::cli
