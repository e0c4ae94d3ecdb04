#include "chosen.hpp"

#include <algorithm>

#include "evidence.hpp"

namespace nsa::tuner {
namespace {

/// What would run there without this decision: the first usable one of the built-in order.
Table built_in_table(const Group& group, const std::vector<SpotRatios>& spots) {
  Table table;
  for (const SpotRatios& spot : spots) {
    table.push_back(
        *std::ranges::find_if(group.built_in, [&](std::size_t v) { return spot.usable[v]; }));
  }
  return table;
}

/// Where nothing tells, what was there stays there.
void leave_undecided(const Group& group, const std::vector<SpotRatios>& spots,
                     const Decision* shipped, const DecideOptions& options, Chosen& chosen) {
  const Table built_in = built_in_table(group, spots);
  const auto before = read_shipped(shipped, group, spots, built_in);
  chosen.undecided.assign(spots.size(), false);
  for (const Run& run : runs_of(chosen.table)) {
    if (doubt_of(group, spots, run, options).empty()) continue;
    for (std::size_t i = run.first; i < run.last; ++i) {
      chosen.undecided[i] = true;
      chosen.table[i] = before ? before->table[i] : built_in[i];
    }
  }
}

}  // namespace

std::vector<SpotRatios> judge(const Group& group, const std::vector<SpotRatios>& spots,
                              const Decision* shipped, const DecideOptions& options) {
  if (!(options.margin > 1)) return spots;
  const Table single = best_single(spots);
  const std::optional<Shipped> before = read_shipped(shipped, group, spots, single);
  return with_margin(spots, before ? before->table : single, options.margin);
}

Chosen choose(const Group& group, const std::vector<SpotRatios>& judged, const Decision* shipped,
              const DecideOptions& options, std::vector<std::string>& notes) {
  Chosen chosen{choose_table(judged, options), {}, false};
  const std::optional<Shipped> old = read_shipped(shipped, group, judged, chosen.table);
  const std::string stage = join_stages(group.stages);
  if (old && !old->followed) {
    notes.push_back(stage +
                    ": a shipped variant was not measured or may not be chosen here; decided anew "
                    "there");
  }
  if (old && !change_pays(judged, old->table, chosen.table, options.epsilon)) {
    if (old->followed && old->table != chosen.table)
      notes.push_back(stage + ": the shipped choice is kept");
    chosen.table = old->table;
    chosen.kept = old->followed;
  }
  leave_undecided(group, judged, shipped, options, chosen);
  return chosen;
}

}  // namespace nsa::tuner
