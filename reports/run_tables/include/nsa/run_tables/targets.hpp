// Expected rates against measured ones, each judged in its own direction.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nsa/reports/style.hpp"
#include "nsa/run_tables/cell.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::run_tables {

/// An expected rate (targets.schema.json).
struct Target {
  std::string device;  // words of a device's name; "*" = any
  std::int64_t devices = 1;
  std::string model;
  std::int64_t seq_len = 0;
  std::optional<std::int64_t> batch = {};
  std::string direction;  // "forward", "training"
  double at_least = 0;    // tokens/s
  std::optional<double> up_to = {};
  bool verified = false;
  std::string source;
};

/// A rate that was measured.
struct MeasuredRate {
  std::string device;  // its name
  std::string model;
  std::int64_t seq_len = 0, batch = 1;
  std::string direction;
  Estimate tokens_per_s;
  std::string origin;  // "fp32, run 3f2a of 2026-10-01"
  std::string day;     // 2026-10-01
};

enum class TargetVerdict : std::uint8_t { pass, fail, not_measured };

struct JudgedTarget {
  Target target;
  TargetVerdict verdict = TargetVerdict::not_measured;
  std::string reason;                         // why there is no verdict
  std::optional<MeasuredRate> measured = {};  // that judged it
};

/// Targets of a document that obeys targets.schema.json.
std::vector<Target> targets_of(const Json& document);
/// Those that users named for their own program. Nobody has verified them.
const std::vector<Target>& reported_targets();

/// Whether each word of `wanted` is a word of `name`, in any case. "A100" is none of "A1000".
bool names_device(const std::string& wanted, const std::string& name);
/// Each target against the fastest rate of the last day with one that answers it. It fails where
/// even the upper end of the rate's interval is below `at_least`.
std::vector<JudgedTarget> judge_targets(const std::vector<Target>& targets,
                                        std::span<const MeasuredRate> rates);
/// 1 where a target failed, 3 where none was judged, else 0.
int exit_code_of(std::span<const JudgedTarget> judged);

/// What a token is, wherever rates of several sources stand beside each other.
extern const char* const kTokenDefinition;
/// A table for the terminal.
std::string targets_table(std::span<const JudgedTarget> judged, reports::Style style);
/// report_targets.schema.json; `file` empty = those that are shipped.
Json targets_json(std::span<const JudgedTarget> judged, const std::string& file);

}  // namespace nsa::run_tables
