// What a user wants measured: sweep.json. Plain values: threads may share one that none of them
// changes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nsa/schemas/measurement.hpp"
#include "nsa/schemas/problem.hpp"

namespace nsa {

inline constexpr int kSweepSchemaVersion = 1;

/// A family of problems: a base, and axes whose values replace a field of it (all combinations).
/// Axis names are the Problem's JSON keys, and `seq_len`, `context_len`, `batch`, `overlap`,
/// `pattern`. Axes keep the order of the file.
struct ProblemFamily {
  std::string name;
  Problem base;
  std::vector<std::pair<std::string, std::vector<std::string>>> axes;
  std::vector<std::string> stages;        // narrows the spec's; empty = those of the spec
  std::vector<std::string> variants;      // likewise
  std::vector<std::string> roles;         // of our own rows: "candidate", ...; empty = all
  std::optional<LaunchMode> launch = {};  // instead of the policy's
  bool operator==(const ProblemFamily&) const = default;
};

/// How everything is measured. Part of the job key: another policy is another measurement.
struct MeasurePolicy {
  std::int64_t samples = 1;      // per visit of a variant
  std::int64_t processes = 2;    // fresh worker processes per contest
  std::int64_t min_rounds = 3;   // A B B A rounds per process
  std::int64_t max_rounds = 20;  // in its last process, half of them in others; a contest stops
                                 // when its intervals are decided
  double epsilon = 0.003;        // ratios within it count as equal (docs/method.md)
  bool control = true;           // an A/A control in every contest
  bool cold = true;
  LaunchMode launch = LaunchMode::eager;
  std::optional<Timer> timer;     // nothing = the device's own (host on a CPU, events on CUDA)
  std::int64_t verify_rows = 16;  // rows that the parent checks, block boundaries first
  double deadline_s = 30;         // least time a request may take before the worker is killed
  double visit_target_s = 0.2;    // samples of a visit are cut to stay near it, to one at least
  /// A variant this many times slower than the best seen in its contest keeps the visits it has
  /// but gets no more: it cannot win, and it would take the budget.
  double give_up_ratio = 8;
  /// Whether a variant that loses its contest without doubt (is_clear_loser() in
  /// nsa/tuner/decide.hpp) gets no more visits in that process. Off where a night has to be like
  /// the night before.
  bool race = false;
  bool noise_gate = true;  // visits that the machine disturbed are `noisy`, and more take place
  /// Whether lengths are added to those of the spec: where choices cross, above the longest, and
  /// some that only judge the decision. No part of the job key: it says what is measured, not how.
  bool refine = true;
  double held_out = 0.1;  // share of lengths that only judge
  bool operator==(const MeasurePolicy&) const = default;
};

struct SweepSpec {
  int schema_version = kSweepSchemaVersion;
  std::string name = "custom";
  std::vector<ProblemFamily> families;
  std::vector<std::string> stages;    // empty = all
  std::vector<std::string> variants;  // names or globs ("fa2_*"); empty = all
  MeasurePolicy policy;
  std::optional<double> budget_s;
  std::optional<double> contest_limit_s;  // contests expected to take longer are left out
  std::uint64_t seed = 1;
  bool operator==(const SweepSpec&) const = default;
};

}  // namespace nsa
