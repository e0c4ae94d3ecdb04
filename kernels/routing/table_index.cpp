#include "table_index.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/executor.hpp"

namespace nsa::routing {
namespace {

constexpr std::size_t kMaxClasses = 32767;  // a ClassFit holds an int16
constexpr int kCompositeHashesSince = 2;    // schema version of thresholds files

std::string ranges_are(int count) {
  return std::to_string(count) + (count == 1 ? " range is" : " ranges are");
}

/// Turns the names of one table into rows, and remembers what it could not turn.
class Builder {
 public:
  Builder(TableIndex& index, const ThresholdTable& table, const AllStageRows& rows, bool stale)
      : index_(index), table_(table), rows_(rows), stale_(stale) {}

  ClassIndex make_class(const ClassDecisions& decided) {
    ClassIndex result;
    result.problem_class = decided.problem_class;
    result.key = key_of(decided.problem_class);
    result.reserves = decided.reserves;
    std::array<bool, kSlots> eager{};
    for (const Decision& decision : decided.decisions) {
      if (decision.ranges.empty()) continue;
      const std::size_t at = slot_of(rows_, decision.stages, decided.problem_class.direction);
      if (at == kSlots) continue;  // of a foreign worker's stages
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
      index_.warnings.push_back(name + ": " + ranges_are(changed_) +
                                " stale: the kernels have changed since the measurement; measure "
                                "again with `nsatune sweep` and `tune`");
    }
    if (unknown_hashes_ > 0) {
      index_.warnings.push_back(
          name +
          ": of an older nsatune, whose hashes of attention, layer, model and of rows over "
          "several stages said nothing of the kernels that they run; whether " +
          ranges_are(unknown_hashes_) + " stale is unknown");
    }
  }

 private:
  DecisionIndex make_decision(const Decision& decision, const StageRows& rows) {
    DecisionIndex result;
    result.axis = decision.axis;
    result.ranges = make_ranges(decision.ranges, rows);
    if (decision.alignment) {
      result.multiple = decision.alignment->multiple;
      result.aligned = make_ranges(decision.alignment->ranges, rows);
    }
    return result;
  }

  std::vector<RangeIndex> make_ranges(const std::vector<ThresholdRange>& ranges,
                                      const StageRows& rows) {
    std::vector<RangeIndex> result;
    for (const ThresholdRange& range : ranges) result.push_back(make_range(range, rows));
    RangeIndex& end = result.emplace_back();
    end.from = end.to;
    return result;
  }

  RangeIndex make_range(const ThresholdRange& range, const StageRows& rows) {
    RangeIndex result;
    result.range = &range;
    result.from = range.from;
    if (range.to) result.to = *range.to;
    const std::string why = why_skipped(range.variant, rows);
    if (!why.empty()) {
      result.skipped = remember(why);
      ++skipped_[result.skipped];
    } else {
      result.row = rows.find(range.variant.name);
      result.candidate = &rows.at(result.row);
      result.point = &range.variant.point;
      result.stale = stale_ || changed(*result.candidate->variant, range.source_hash);
    }
    add_runner_up(result, rows);
    return result;
  }

  /// Whether the row is compiled from other code than when it was measured, as far as is known.
  bool changed(const Variant& variant, const std::string& measured) {
    if (measured.empty() || variant.source_hash.empty()) return false;
    const bool composite = variant.stages.size() > 1 || variant.stages.front() >= Stage::attention;
    if (composite && table_.schema_version < kCompositeHashesSince) {
      ++unknown_hashes_;
      return false;
    }
    const bool other = variant.source_hash != measured;
    changed_ += other ? 1 : 0;
    return other;
  }

  void add_runner_up(RangeIndex& result, const StageRows& rows) {
    if (!result.range->evidence.runner_up) return;
    try {
      const VariantId id = parse_variant_id(*result.range->evidence.runner_up);
      if (!why_skipped(id, rows).empty()) return;
      result.runner_up = rows.find(id.name);
      const auto& points = rows.at(result.runner_up).points;
      result.runner_up_point = &*std::find(points.begin(), points.end(), id.point);
    } catch (const InputError&) {
      // The runner-up is evidence in words; one that is no id of ours is only shown.
    }
  }

  std::string why_skipped(const VariantId& id, const StageRows& rows) const {
    const int at = rows.find(id.name);
    const std::string text = to_string(id);
    if (at == kNoRow) return text + why_unknown(id);
    const Row& row = rows.at(at);
    if (!row.usable) return row.unusable;
    if (row.variant->role != Role::candidate) return text + " is never chosen by a table";
    const bool known =
        std::find(row.points.begin(), row.points.end(), id.point) != row.points.end();
    return known ? std::string() : text + " is unknown to this build";
  }

  /// Of a sequence, the stage whose row there is not.
  std::string why_unknown(const VariantId& id) const {
    const std::vector<std::string> names = sequence_of(id);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::size_t slot = slot_of(rows_, std::vector<std::string>{id.stages[i]});
      if (rows_[slot].find(names[i]) == kNoRow) {
        return " leaves " + id.stages[i] + " without a row: " + names[i] +
               " is unknown to this build";
      }
    }
    return " is unknown to this build";
  }

  const std::string* remember(const std::string& reason) {
    const auto at = std::find(index_.reasons.begin(), index_.reasons.end(), reason);
    if (at != index_.reasons.end()) return &*at;
    return &index_.reasons.emplace_back(reason);
  }

  TableIndex& index_;
  const ThresholdTable& table_;
  const AllStageRows& rows_;
  bool stale_;
  int changed_ = 0, unknown_hashes_ = 0;
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
    if (check.holds != Holds::no) continue;
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
  if (table.executor != kOwnExecutor) {
    index.warnings.push_back(name + ": not used, its decisions are of executor \"" +
                             table.executor + "\", this is " + std::string(kOwnExecutor));
    return index;
  }
  index.device_fit = fit_of(table.device, device);
  say_device_fit(index, table, name, device);
  if (index.device_fit == DeviceFit::built_in) return index;
  index.usable = true;
  index.validators = check_validators(table.validators, validators_of(device));
  expects(table.classes.size() <= kMaxClasses, "32,767 problem classes of a table at most");
  Builder builder(index, table, rows, say_validators(index, name));
  for (const ClassDecisions& decided : table.classes) {
    index.classes.push_back(builder.make_class(decided));
  }
  builder.summarise(name);
  return index;
}

}  // namespace nsa::routing
