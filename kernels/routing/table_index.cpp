#include "table_index.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "nsa/schemas/error.hpp"

namespace nsa::routing {
namespace {

constexpr std::size_t kMaxClasses = 32767;  // a ClassFit holds an int16
constexpr std::string_view kExecutor = "nsatune";

/// Turns the names of one table into rows, and remembers what it could not turn.
class Builder {
 public:
  Builder(TableIndex& index, const AllStageRows& rows, bool stale)
      : index_(index), rows_(rows), stale_(stale) {}

  ClassIndex make_class(const ClassDecisions& decided) {
    ClassIndex result;
    result.problem_class = decided.problem_class;
    result.key = key_of(decided.problem_class);
    result.reserves = decided.reserves;
    std::array<bool, kStageCount> eager{};
    for (const Decision& decision : decided.decisions) {
      // A span of several stages is decided as a whole by the composites above it.
      if (decision.stages.size() != 1 || decision.ranges.empty()) continue;
      const auto stage = from_string<Stage>(decision.stages.front());
      if (!stage) continue;
      const auto at = static_cast<std::size_t>(*stage);
      // The runtime launches eagerly; what was timed in a graph counts where nothing else was.
      const bool better = decision.launch == LaunchMode::eager;
      if (!result.decisions[at].ranges.empty() && (!better || eager[at])) continue;
      eager[at] = better;
      result.decisions[at] = make_decision(decision, rows_[at]);
    }
    return result;
  }

  void summarise(const std::string& name) {
    for (const auto& [reason, count] : skipped_) {
      index_.warnings.push_back(name + ": " + std::to_string(count) +
                                (count == 1 ? " range" : " ranges") + " skipped: " + *reason);
    }
    if (changed_ > 0) {
      index_.warnings.push_back(name + ": " + std::to_string(changed_) +
                                " ranges are stale: the kernels have changed since they were "
                                "measured; measure again with `nsatune sweep` and `tune`");
    }
  }

 private:
  DecisionIndex make_decision(const Decision& decision, const StageRows& rows) {
    DecisionIndex result;
    result.axis = decision.axis;
    result.from = decision.ranges.front().from;
    for (const ThresholdRange& range : decision.ranges) {
      result.ranges.push_back(make_range(range, rows));
    }
    return result;
  }

  RangeIndex make_range(const ThresholdRange& range, const StageRows& rows) {
    RangeIndex result;
    result.range = &range;
    if (range.to) result.to = *range.to;
    const std::string why = why_skipped(range.variant, rows);
    if (!why.empty()) {
      result.skipped = remember(why);
      ++skipped_[result.skipped];
    } else {
      result.row = rows.find(range.variant.name);
      result.point = &range.variant.point;
      const auto& hash = row_of(rows, result.row).variant->source_hash;
      const bool changed = !range.source_hash.empty() && !hash.empty() && hash != range.source_hash;
      result.stale = stale_ || changed;
      changed_ += changed ? 1 : 0;
    }
    add_runner_up(result, rows);
    return result;
  }

  void add_runner_up(RangeIndex& result, const StageRows& rows) {
    if (!result.range->evidence.runner_up) return;
    try {
      const VariantId id = parse_variant_id(*result.range->evidence.runner_up);
      if (!why_skipped(id, rows).empty()) return;
      result.runner_up = rows.find(id.name);
      const auto& points = row_of(rows, result.runner_up).points;
      result.runner_up_point = &*std::find(points.begin(), points.end(), id.point);
    } catch (const InputError&) {
      // The runner-up is evidence in words; one that is no id of ours is only shown.
    }
  }

  static std::string why_skipped(const VariantId& id, const StageRows& rows) {
    const int at = rows.find(id.name);
    const std::string text = to_string(id);
    if (at == kNoRow) return text + " is unknown to this build";
    const Row& row = row_of(rows, at);
    if (!row.usable) return row.unusable;
    if (row.variant->role != Role::candidate) return text + " is never chosen by a table";
    const bool known =
        std::find(row.points.begin(), row.points.end(), id.point) != row.points.end();
    return known ? std::string() : text + " is unknown to this build";
  }

  static const Row& row_of(const StageRows& rows, int at) {
    return rows.rows[static_cast<std::size_t>(at)];
  }

  const std::string* remember(const std::string& reason) {
    const auto at = std::find(index_.reasons.begin(), index_.reasons.end(), reason);
    if (at != index_.reasons.end()) return &*at;
    return &index_.reasons.emplace_back(reason);
  }

  TableIndex& index_;
  const AllStageRows& rows_;
  bool stale_;
  int changed_ = 0;
  std::map<const std::string*, int> skipped_;
};

void say_device_fit(TableIndex& index, const ThresholdTable& table, const std::string& name,
                    const Device& device) {
  if (index.device_fit == DeviceFit::exact) return;
  const std::string fit = index.device_fit == DeviceFit::built_in
                              ? "not used, it is of another back end"
                              : "used as " + std::string(to_string(index.device_fit));
  index.warnings.push_back(name + ": decided on \"" + table.device.name + "\", this is \"" +
                           device.name + "\": " + fit);
}

/// True when a validator says no.
bool say_validators(TableIndex& index, const std::string& name) {
  std::string broken;
  for (const ValidatorCheck& check : index.validators) {
    if (check.verdict != Verdict::no) continue;
    broken += (broken.empty() ? "" : ", ") + std::string(check.name) + " was " + check.recorded +
              ", is " + check.here;
  }
  if (broken.empty()) return false;
  if (index.device_fit == DeviceFit::exact) {
    index.warnings.push_back(name + ": stale, " + broken);
  }
  return true;
}

}  // namespace

TableIndex make_index(const ThresholdTable& table, const std::string& name, const Device& device,
                      const AllStageRows& rows) {
  TableIndex index;
  if (table.executor != kExecutor) {
    index.warnings.push_back(name + ": not used, its decisions are of executor \"" +
                             table.executor + "\", this is " + std::string(kExecutor));
    return index;
  }
  index.device_fit = fit_of(table.device, device);
  say_device_fit(index, table, name, device);
  if (index.device_fit == DeviceFit::built_in) return index;
  index.usable = true;
  index.validators = check_validators(table.validators, validators_of(device));
  expects(table.classes.size() <= kMaxClasses, "32,767 problem classes of a table at most");
  Builder builder(index, rows, say_validators(index, name));
  for (const ClassDecisions& decided : table.classes) {
    index.classes.push_back(builder.make_class(decided));
  }
  builder.summarise(name);
  return index;
}

}  // namespace nsa::routing
