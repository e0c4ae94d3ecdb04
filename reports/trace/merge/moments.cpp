#include "moments.hpp"

#include "analyse/communication/calls.hpp"
#include "analyse/communication/patterns.hpp"
#include "analyse/context.hpp"
#include "analyse/steps/ranges.hpp"

namespace nsa::trace {
namespace {

/// Counts those of a key that are alike.
class Places {
 public:
  Key next(Key key) {
    key.place = counts_[key]++;
    return key;
  }

 private:
  std::map<Key, std::size_t> counts_;
};

std::map<Key, Row> by_key(const std::vector<Moments>& traces) {
  std::map<Key, Row> out;
  for (std::size_t i = 0; i < traces.size(); ++i)
    for (const auto& [key, at_ns] : traces[i]) out[key].push_back({i, at_ns});
  return out;
}

}  // namespace

Moments collective_ends(const Trace& trace) {
  std::vector<char> collective;  // [names]
  for (NameId id = 0; id < trace.names.size(); ++id) {
    const auto comm = comm_of_kernel(trace.names.text(id));
    collective.push_back(comm && waits_for_all(comm->collective));
  }
  const CommCalls calls = comm_calls(TraceContext(trace));
  Moments out;
  Places places;
  for (const CommCall& call : calls.calls) {
    const GpuOp& op = trace.ops[call.first_op];
    if (op.kind != OpKind::kernel || collective[op.name] == 0) continue;
    const Message& message = calls.kinds[call.kind].message;
    out[places.next({message.group, trace.names.text(op.name), message.sequence.value_or(-1)})] =
        call.end_ns;
  }
  return out;
}

Moments step_starts(const Trace& trace) {
  Moments out;
  Places places;
  for (const StepRange& step : marked_steps(trace))
    if (step.source != "detected") out[places.next({"", step.name})] = step.start_ns;
  return out;
}

std::map<std::string, std::set<std::size_t>> groups_of(const std::vector<Moments>& traces) {
  std::map<std::string, std::set<std::size_t>> out;
  for (std::size_t i = 0; i < traces.size(); ++i)
    for (const auto& [key, at_ns] : traces[i]) out[key.group].insert(i);
  return out;
}

std::vector<Row> same_collectives(const std::vector<Moments>& traces) {
  const auto groups = groups_of(traces);
  const auto rows = by_key(traces);
  std::set<std::string> unclear;
  for (const auto& [key, row] : rows)
    if (key.sequence < 0 && row.size() < groups.at(key.group).size()) unclear.insert(key.group);
  std::vector<Row> out;
  for (const auto& [key, row] : rows)
    if (row.size() > 1 && !unclear.contains(key.group)) out.push_back(row);
  return out;
}

std::vector<Row> same_steps(const std::vector<Moments>& traces) {
  std::vector<Row> out;
  for (const auto& [key, row] : by_key(traces))
    if (row.size() == traces.size()) out.push_back(row);
  return out;
}

}  // namespace nsa::trace
