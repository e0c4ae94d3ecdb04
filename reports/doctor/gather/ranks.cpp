// What ranks of one job say only together.
#include <set>

#include "nsa/doctor/gather.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/trace/merge.hpp"

namespace nsa::doctor {

bool may_be_ranks(const std::vector<TraceEvidence>& traces) {
  std::set<std::int64_t> ranks;
  for (const TraceEvidence& trace : traces) {
    const trace::Summary& s = trace.summary;
    if (!s.rank || !s.collectives || s.world_size != traces.front().summary.world_size)
      return false;
    ranks.insert(*s.rank);
  }
  return ranks.size() == traces.size();
}

void compare_ranks(std::vector<trace::Trace> examined, std::vector<TraceEvidence>& traces) {
  try {
    trace::expect_one_job(examined);
    const auto all = trace::collectives_of(trace::merge_traces(std::move(examined)));
    if (!all || all->ranks.empty()) return;
    for (TraceEvidence& trace : traces) trace.summary.collectives = all;
  } catch (const InputError&) {  // recordings of different times: each is judged alone
  }
}

}  // namespace nsa::doctor
