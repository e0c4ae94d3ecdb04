#include "stale_ranges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "nsa/kernels/catalog.hpp"

namespace nsa::cli {
namespace {

/// The hash of a variant's code as it is now, maybe empty; nothing where there is no such variant.
using HashOf = std::function<std::optional<std::string>(const VariantId&, Direction)>;

struct Outdated {
  int gone = 0, stale = 0;
};

/// Of each variant that the table chooses, its ranges. What is undecided is no choice.
std::map<std::string, Outdated> count_outdated(const ThresholdTable& table, const HashOf& hash_of) {
  std::map<std::string, Outdated> found;
  const auto look = [&](const std::vector<ThresholdRange>& ranges, Direction direction) {
    for (const ThresholdRange& range : ranges) {
      if (range.basis == Basis::undecided) continue;
      const auto now = hash_of(range.variant, direction);
      const bool stale =
          now && !now->empty() && !range.source_hash.empty() && *now != range.source_hash;
      Outdated& of = found[to_string(range.variant)];
      of.gone += !now;
      of.stale += stale;
    }
  };
  for (const ClassDecisions& of_class : table.classes) {
    for (const Decision& decision : of_class.decisions) {
      look(decision.ranges, of_class.problem_class.direction);
      if (decision.alignment) look(decision.alignment->ranges, of_class.problem_class.direction);
    }
  }
  return found;
}

std::string stale_line(const std::string& variant, int count, std::string_view whose) {
  return fmt::format("stale: {}: {} {} on measurements of other code than {}; sweep again", variant,
                     count, count == 1 ? "range rests" : "ranges rest", whose);
}

}  // namespace

std::vector<std::string> stale_notes(const ThresholdTable& table) {
  const auto compiled = [&](const VariantId& id, Direction direction) {
    const Variant* row = find_variant(id, table.device.backend, direction);
    return row ? std::optional(std::string(row->source_hash)) : std::nullopt;
  };
  std::vector<std::string> lines;
  for (const auto& [variant, of] : count_outdated(table, compiled)) {
    if (of.stale > 0) lines.push_back(stale_line(variant, of.stale, "this program's"));
  }
  return lines;
}

std::vector<std::string> outdated_ranges(const ThresholdTable& table,
                                         const std::vector<tuner::Candidate>& offered) {
  const auto said = [&](const VariantId& id, Direction direction) -> std::optional<std::string> {
    const auto found = std::ranges::find_if(offered, [&](const tuner::Candidate& candidate) {
      return candidate.executor == table.executor && candidate.id == id &&
             candidate.direction == direction;
    });
    return found == offered.end() ? std::nullopt : std::optional(found->source_hash);
  };
  std::vector<std::string> lines;
  for (const auto& [variant, of] : count_outdated(table, said)) {
    if (of.gone > 0)
      lines.push_back(
          fmt::format("gone: {}: {} it, and {} does not offer it any more; sweep again", variant,
                      of.gone == 1 ? "1 range chooses" : fmt::format("{} ranges choose", of.gone),
                      table.executor));
    if (of.stale > 0)
      lines.push_back(stale_line(variant, of.stale, "what " + table.executor + " runs now"));
  }
  return lines;
}

}  // namespace nsa::cli
