#include "context.hpp"

#include "launches.hpp"

namespace nsa::trace {
namespace {

/// Spans of each process: what one process does explains nothing of another one's GPU.
class ByProcess {
 public:
  template <class Span>
  void add(const Span& span) {
    if (span.process >= of_.size()) of_.resize(span.process + std::size_t{1});
    of_[span.process].push_back({span.start_ns, span.end_ns});
  }
  std::vector<IntervalSet> unions() {
    std::vector<IntervalSet> out;
    for (std::vector<Interval>& spans : of_) out.push_back(union_of(std::move(spans)));
    return out;
  }

 private:
  std::vector<std::vector<Interval>> of_;
};

}  // namespace

Context::Context(const Trace& of)
    : trace(of),
      launch(launches_of(of)),
      tree(host_tree(of, launch)),
      wait(waits_of_calls(of, launch)) {
  for (NameId id = 0; id < trace.names.size(); ++id)
    is_comm_name.push_back(is_comm_kernel(trace.names.text(id)));
  ByProcess waits, blocks, own;
  for (std::size_t i = 0; i < trace.calls.size(); ++i)
    if (wait[i] != WaitKind::none) (wait[i] == WaitKind::sync ? waits : blocks).add(trace.calls[i]);
  for (const Overhead& o : trace.overheads) {
    if (o.of_profiler) {
      own.add(o);
    } else if (wait_of_overhead(trace.names.text(o.name)) != WaitKind::none) {
      blocks.add(o);
    }
  }
  syncs = waits.unions();
  blocking = blocks.unions();
  overheads = own.unions();
}

}  // namespace nsa::trace
