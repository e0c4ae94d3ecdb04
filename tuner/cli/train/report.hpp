// What a training run reports beside what `run` does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nsa/kernels/run_allocator.hpp"
#include "nsa/kernels/training.hpp"
#include "nsa/schemas/json.hpp"
#include "train/parts.hpp"

namespace nsa::cli {

/// Of a GPU.
struct AllocatorReport {
  std::string name;
  std::optional<std::int64_t> keep_bytes;  // of a pool
  device::AllocatorUse peak;
};

struct TrainReport {
  training::TrainingConfig config;
  std::string data;             // "synthetic", or the file
  std::int64_t first_step = 0;  // of this run, from 0: steps that were done before
  std::vector<training::StepResult> results;
  PartTimes::Parts parts;
  std::int64_t parts_steps = 0;  // that they add up
  training::TrainingMemory predicted, measured;
  std::int64_t reserved_bytes = 0, grow_events = 0;  // of the arena
  std::optional<AllocatorReport> allocator;
  std::optional<std::string> stopped;  // why it ended early
  bool graph = false;
};

/// Schema run_result, its `training`.
Json train_json(const TrainReport& report);
Json parts_json(const training::TrainingMemory& memory);
/// Losses of all steps, one a step; null where one is not finite.
Json losses_json(const TrainReport& report);

}  // namespace nsa::cli
