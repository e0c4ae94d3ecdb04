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
  std::vector<trace::JobMember> members;
  for (const TraceEvidence& trace : evidence.traces) members.push_back(trace.job);
  try {
    trace::expect_one_job(members);
    if (examined.size() < 2) return;
    const auto of_ranks = trace::collectives_of_parts(trace::merge_traces(std::move(examined)));
    for (TraceEvidence& trace : evidence.traces) {
      const auto part = std::ranges::count_if(
          members, [&](const trace::JobMember& other) { return other.rank < trace.job.rank; });
      const auto at = static_cast<std::size_t>(part);  // they are merged in the order of ranks
      if (at < of_ranks.size() && !of_ranks[at].ranks.empty())
        trace.summary.collectives = of_ranks[at];
    }
  } catch (const InputError& e) {
    evidence.one_job = false;
    const std::string reason = e.what();
    const std::size_t path = std::min(reason.find(": "), reason.size());
    evidence.not_judged.push_back(
        {clean(reason.substr(0, path)), "with the other traces" + clean(reason.substr(path), 400)});
  }
}

}  // namespace nsa::doctor
