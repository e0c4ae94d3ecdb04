#include "pool/kept_rows.hpp"

#include <algorithm>

#include "nsa/schemas/median.hpp"
#include "plan/contest_id.hpp"

namespace nsa::tuner {
namespace {

/// One sample that stands for all: the medians; cycles where every sample has them.
Sample median_of(const std::vector<Sample>& samples) {
  std::vector<std::int64_t> device_ns, host_ns, cycles;
  for (const Sample& sample : samples) {
    device_ns.push_back(sample.device_ns);
    host_ns.push_back(sample.host_ns);
    if (sample.cycles) cycles.push_back(*sample.cycles);
  }
  Sample middle{samples.front().start_ns, median(device_ns), median(host_ns), std::nullopt};
  if (cycles.size() == samples.size()) middle.cycles = median(cycles);
  return middle;
}

}  // namespace

bool KeptRows::add(const Measurement& row) {
  if (!sink_.add(row)) return false;
  keep(row);
  return true;
}

void KeptRows::keep_all(const std::vector<Measurement>& rows) {
  for (const Measurement& row : rows) keep(row);
}

void KeptRows::keep(const Measurement& row) {
  Kept& kept = kept_.emplace_back(contest_id(row.problem, row.variant.stages, row.launch), row);
  if (!row.samples.empty()) kept.row.samples = {median_of(row.samples)};
}

std::vector<Measurement> KeptRows::rows_of(const PlannedContests& contests,
                                           std::int64_t processes) const {
  const auto planned = [&](const Kept& kept) {
    // The last contest of that id that begins at the row's process or before it.
    auto found = contests.upper_bound({kept.contest, kept.row.process});
    if (found == contests.begin()) return false;
    --found;
    return found->first == kept.contest && kept.row.process < found->second + processes;
  };
  std::vector<Measurement> rows;
  for (const Kept& kept : kept_) {
    if (planned(kept)) rows.push_back(kept.row);
  }
  return rows;
}

}  // namespace nsa::tuner
