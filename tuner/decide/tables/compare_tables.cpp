// What changed from one table to another.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "decide/ratios/row_filter.hpp"
#include "nsa/tuner/decide.hpp"

namespace nsa::tuner {
namespace {

using Lines = std::vector<std::string>;

using Ranges = std::vector<ThresholdRange>;

const VariantId* variant_at(const Ranges& ranges, std::int64_t at) {
  for (const ThresholdRange& range : ranges) {
    if (at >= range.from && (!range.to || at < *range.to)) return &range.variant;
  }
  return nullptr;
}

std::string name_of(const VariantId* id) {
  if (!id) return "nothing";
  const std::string text = to_string(*id);
  return text.substr(text.find('/') + 1);
}

/// One line for each stretch of the axis where both choose differently.
void compare_ranges(const std::string& where, Axis axis, const Ranges& before, const Ranges& after,
                    Lines& lines) {
  std::set<std::int64_t> starts;
  for (const Ranges* ranges : {&before, &after}) {
    for (const ThresholdRange& range : *ranges) {
      starts.insert(range.from);
      if (range.to) starts.insert(*range.to);  // after it nothing may be decided
    }
  }
  for (auto at = starts.begin(); at != starts.end(); ++at) {
    const VariantId *old = variant_at(before, *at), *now = variant_at(after, *at);
    if (!old && !now) continue;
    if (old && now && *old == *now) continue;
    const auto end = std::next(at);
    lines.push_back(fmt::format("{}: {} [{}, {}): {} -> {}", where, to_string(axis), *at,
                                end == starts.end() ? "inf" : std::to_string(*end), name_of(old),
                                name_of(now)));
  }
}

/// What runs at multiples of a length: ranges of their own, or those of all lengths.
const Ranges& ranges_at_multiples(const Decision& decision, std::int64_t multiple) {
  const bool own = decision.alignment && multiple % decision.alignment->multiple == 0;
  return own ? decision.alignment->ranges : decision.ranges;
}

/// The same for the lengths that fill every tile, where one of both decides them by themselves.
void compare_aligned(const std::string& where, const Decision& before, const Decision& after,
                     Lines& lines) {
  std::set<std::int64_t> multiples;
  for (const Decision* decision : {&before, &after}) {
    if (decision->alignment) multiples.insert(decision->alignment->multiple);
  }
  for (const std::int64_t multiple : multiples)
    compare_ranges(fmt::format("{} at multiples of {}", where, multiple), after.axis,
                   ranges_at_multiples(before, multiple), ranges_at_multiples(after, multiple),
                   lines);
}

void compare_decisions(const std::string& where, const ClassDecisions& before,
                       const ClassDecisions& after, Lines& lines) {
  const auto same = [](const Decision& d) {
    return [&d](const Decision& other) { return other.stages == d.stages; };
  };
  for (const Decision& now : after.decisions) {
    const std::string place = where + ": " + join_stages(now.stages);
    const auto old = std::find_if(before.decisions.begin(), before.decisions.end(), same(now));
    if (old == before.decisions.end()) {
      lines.push_back(place + ": new decision");
    } else if (old->axis != now.axis) {
      lines.push_back(
          fmt::format("{}: axis {} -> {}", place, to_string(old->axis), to_string(now.axis)));
    } else {
      compare_ranges(place, now.axis, old->ranges, now.ranges, lines);
      compare_aligned(place, *old, now, lines);
    }
  }
  for (const Decision& old : before.decisions) {
    if (std::none_of(after.decisions.begin(), after.decisions.end(), same(old))) {
      lines.push_back(where + ": " + join_stages(old.stages) + ": no longer decided");
    }
  }
}

void compare_reserve(const std::string& where, const char* name, std::optional<std::int64_t> before,
                     std::optional<std::int64_t> after, Lines& lines) {
  if (before == after) return;
  const auto text = [](std::optional<std::int64_t> v) { return v ? std::to_string(*v) : "none"; };
  lines.push_back(fmt::format("{}: {}: {} -> {}", where, name, text(before), text(after)));
}

void compare_reserves(const std::string& where, const Reserves& before, const Reserves& after,
                      Lines& lines) {
  compare_reserve(where, "varlen_reserve_n", before.varlen_reserve_n, after.varlen_reserve_n,
                  lines);
  compare_reserve(where, "varlen_reserve_k", before.varlen_reserve_k, after.varlen_reserve_k,
                  lines);
  compare_reserve(where, "sel_pack_reserve_n", before.sel_pack_reserve_n, after.sel_pack_reserve_n,
                  lines);
  compare_reserve(where, "sel_pack_reserve_l", before.sel_pack_reserve_l, after.sel_pack_reserve_l,
                  lines);
}

const ClassDecisions* find(const ThresholdTable& table, const ProblemClass& c) {
  for (const ClassDecisions& of : table.classes) {
    if (of.problem_class == c) return &of;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> compare_tables(const ThresholdTable& before, const ThresholdTable& after) {
  Lines lines;
  if (before.device.name != after.device.name) {
    lines.push_back("device: " + before.device.name + " -> " + after.device.name);
  }
  if (before.executor != after.executor) {
    lines.push_back("executor: " + before.executor + " -> " + after.executor);
  }
  for (const ClassDecisions& now : after.classes) {
    const std::string where = to_string(now.problem_class);
    const ClassDecisions* old = find(before, now.problem_class);
    if (!old) {
      lines.push_back(where + ": new class");
      continue;
    }
    compare_decisions(where, *old, now, lines);
    compare_reserves(where, old->reserves, now.reserves, lines);
  }
  for (const ClassDecisions& old : before.classes) {
    if (!find(after, old.problem_class)) {
      lines.push_back(to_string(old.problem_class) + ": no longer decided");
    }
  }
  return lines;
}

}  // namespace nsa::tuner
