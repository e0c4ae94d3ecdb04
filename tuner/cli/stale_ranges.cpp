#include "stale_ranges.hpp"

#include <fmt/format.h>

#include <map>

#include "nsa/kernels/catalog.hpp"

namespace nsa::cli {

std::vector<std::string> stale_notes(const ThresholdTable& table) {
  std::map<std::string, int> ranges;
  for (const ClassDecisions& of_class : table.classes) {
    for (const Decision& decision : of_class.decisions) {
      for (const ThresholdRange& range : decision.ranges) {
        const Variant* row =
            find_variant(range.variant, table.device.backend, of_class.problem_class.direction);
        const bool known = row && !range.source_hash.empty();
        if (known && row->source_hash != range.source_hash) ++ranges[to_string(range.variant)];
      }
    }
  }
  std::vector<std::string> lines;
  for (const auto& [variant, count] : ranges) {
    lines.push_back(fmt::format(
        "stale: {}: {} {} on measurements of other code than this program's; sweep again", variant,
        count, count == 1 ? "range rests" : "ranges rest"));
  }
  return lines;
}

}  // namespace nsa::cli
