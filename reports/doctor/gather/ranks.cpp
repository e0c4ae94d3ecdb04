// What ranks of one job say only together.
#include <algorithm>

#include "nsa/doctor/gather.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/trace/merge.hpp"

namespace nsa::doctor {

bool may_be_ranks(const std::vector<TraceEvidence>& traces) {
  return std::all_of(traces.begin(), traces.end(),
                     [](const TraceEvidence& trace) { return trace.summary.rank.has_value(); });
}

void compare_ranks(std::vector<trace::Trace> examined, RunEvidence& evidence) {
  if (examined.empty()) return;
  try {
    trace::expect_one_job(examined);
    if (examined.size() < 2) return;
    const auto all = trace::collectives_of(trace::merge_traces(std::move(examined)));
    if (!all || all->ranks.empty()) return;
    for (TraceEvidence& trace : evidence.traces) trace.summary.collectives = all;
  } catch (const InputError& e) {
    evidence.one_job = false;
    const std::string reason = e.what();
    const std::size_t path = std::min(reason.find(": "), reason.size());
    evidence.not_judged.push_back(
        {clean(reason.substr(0, path)), "with the other ranks" + clean(reason.substr(path), 400)});
  }
}

}  // namespace nsa::doctor
