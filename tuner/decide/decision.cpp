#include "decision.hpp"

#include <algorithm>

#include "hysteresis.hpp"

namespace nsa::tuner {
namespace {

/// `judged`: the ratios that the choice was made by, with the margin; boundaries lie on them.
std::vector<ThresholdRange> make_ranges(const Group& group, const std::vector<SpotRatios>& spots,
                                        const std::vector<SpotRatios>& judged, const Table& table) {
  const std::vector<Run> runs = runs_of(table);
  std::vector<ThresholdRange> ranges;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    ThresholdRange range;
    range.variant = group.variants[runs[r].variant];
    range.source_hash = source_hash_of(group, spots, runs[r]);
    range.evidence = evidence_of(group, spots, runs[r]);
    if (r > 0) {
      range.from = place_boundary(judged, runs[r - 1], runs[r]);
      ranges.back().to = range.from;
      if (const auto interval = boundary_interval(judged, runs[r - 1], runs[r])) {
        range.evidence.from_low = std::min(interval->low, range.from);
        range.evidence.from_high = std::max(interval->high, range.from);
      }
    }
    ranges.push_back(std::move(range));
  }
  return ranges;
}

/// The shipped ranges with the evidence of today's rows where a range holds a measured length.
std::vector<ThresholdRange> refresh(const Group& group, const std::vector<SpotRatios>& spots,
                                    const Table& table, std::vector<ThresholdRange> ranges) {
  for (ThresholdRange& range : ranges) {
    Run run;
    for (std::size_t i = 0; i < spots.size(); ++i) {
      if (spots[i].at < range.from || (range.to && spots[i].at >= *range.to)) continue;
      if (run.last == 0) run = {i, i, table[i]};
      run.last = i + 1;
    }
    if (run.last == 0) continue;
    const auto low = range.evidence.from_low, high = range.evidence.from_high;
    range.evidence = evidence_of(group, spots, run);
    range.evidence.from_low = low;
    range.evidence.from_high = high;
    range.source_hash = source_hash_of(group, spots, run);
  }
  return ranges;
}

std::vector<SpotRatios> judge(const Group& group, const std::vector<SpotRatios>& spots,
                              const Decision* shipped, double margin) {
  if (!(margin > 1)) return spots;
  const Table single = best_single(spots);
  const std::optional<Shipped> before = read_shipped(shipped, group, spots, single);
  return with_margin(spots, before ? before->table : single, margin);
}

struct Chosen {
  Table table;
  bool kept = false;  // the shipped ranges hold as they are
};

Chosen choose(const Group& group, const std::vector<SpotRatios>& judged, const Decision* shipped,
              const DecideOptions& options, std::vector<std::string>& notes) {
  Table now = choose_table(judged, options);
  const std::optional<Shipped> old = read_shipped(shipped, group, judged, now);
  if (!old) return {now, false};
  const std::string stage = join_stages(group.stages);
  if (!old->followed) {
    notes.push_back(stage +
                    ": a shipped variant was not measured or may not be chosen here; "
                    "decided anew there");
  }
  if (change_pays(judged, old->table, now, options.epsilon)) return {now, false};
  if (old->followed && old->table != now) notes.push_back(stage + ": the shipped choice is kept");
  return {old->table, old->followed};
}

}  // namespace

std::optional<Decision> decide_group(const Group& group, const Decision* shipped,
                                     const DecideOptions& options,
                                     std::vector<std::string>& notes) {
  const std::vector<SpotRatios> spots = estimate(group, options);
  const std::string stage = join_stages(group.stages);
  if (spots.empty()) {
    notes.push_back(stage + ": no variant that may be chosen has a verified time");
    return std::nullopt;
  }
  if (spots.size() < group.spots.size()) {
    notes.push_back(stage + ": " + std::to_string(group.spots.size() - spots.size()) +
                    " measured problems have no variant that may be chosen");
  }
  if (std::all_of(spots.begin(), spots.end(),
                  [](const auto& s) { return std::ranges::max(s.blocks) < 2; })) {
    notes.push_back(stage + ": one round only, so no interval is known");
  }
  const std::vector<SpotRatios> judged = judge(group, spots, shipped, options.margin);
  const Chosen chosen = choose(group, judged, shipped, options, notes);
  Decision decision;
  decision.stages = group.stages;
  decision.axis = group.axis;
  decision.unit = "tokens";
  decision.launch = group.launch;
  decision.timer = group.timer;
  decision.ranges = chosen.kept ? refresh(group, spots, chosen.table, shipped->ranges)
                                : make_ranges(group, spots, judged, chosen.table);
  return decision;
}

}  // namespace nsa::tuner
