#include "ranges.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "analyse/steps/recorded_names.hpp"
#include "nsa/schemas/text/step_name.hpp"
#include "steps.hpp"

namespace nsa::trace {
namespace {

constexpr std::string_view kOptimizer = "Optimizer.step";
constexpr const char* kDigits = "0123456789";

/// In order of start; of steps that overlap in a process the first stays.
std::vector<StepRange> without_overlaps(std::vector<StepRange> steps) {
  std::map<std::uint32_t, std::int64_t> last_end;
  std::erase_if(steps, [&](const StepRange& step) {
    const auto [at, first] = last_end.try_emplace(step.process, step.start_ns);
    if (step.start_ns < at->second) return true;
    at->second = step.end_ns;
    return false;
  });
  return steps;
}

/// Ranges whose name and kind pass, without overlaps.
template <class Passes>
std::vector<StepRange> marked(const Trace& trace, Passes passes) {
  std::vector<StepRange> out;
  for (const HostRange& range : trace.ranges) {
    if (range.open || !passes(range, trace.names.text(range.name))) continue;
    const char* source = range.kind == RangeKind::nvtx ? "nvtx" : "annotation";
    out.push_back(
        {trace.names.text(range.name), source, range.start_ns, range.end_ns, range.process, false});
  }
  return without_overlaps(std::move(out));
}

void sort_by_start(std::vector<StepRange>& steps) {
  std::stable_sort(steps.begin(), steps.end(),
                   [](const StepRange& a, const StepRange& b) { return a.start_ns < b.start_ns; });
}

/// Steps that have all one name get a number.
std::vector<StepRange> numbered(std::vector<StepRange> steps) {
  std::map<std::uint32_t, int> last;  // by process
  for (StepRange& step : steps) {
    const int number = ++last[step.process];
    if (step_name(step.name) == StepName::no || !step_number(step.name))
      step.name += " #" + std::to_string(number);
  }
  return steps;
}

/// What the recorder took for steps; a range may end on another thread.
std::vector<StepRange> recorded_steps(const Trace& trace) {
  const RecordedNames recorded(trace, kStepsRecorded);
  if (recorded.empty()) return {};
  std::vector<StepRange> out = marked(trace, [&](const HostRange& range, const std::string& name) {
    return range.kind != RangeKind::cpu_op && recorded.hold(range.process, name_of_steps(name));
  });
  for (const AsyncRange& range : trace.async_ranges) {
    const std::string& name = trace.names.text(range.name);
    if (recorded.hold(range.process, name_of_steps(name)))
      out.push_back({name, "nvtx", range.start_ns, range.end_ns, range.process, false});
  }
  sort_by_start(out);
  return numbered(without_overlaps(std::move(out)));
}

/// The first moment of the host in a process.
std::int64_t first_of(const Trace& trace, std::uint32_t process) {
  std::int64_t first = kMaxTimeNs;
  for (const HostRange& range : trace.ranges)
    if (range.process == process) first = std::min(first, range.start_ns);
  for (const ApiCall& call : trace.calls)
    if (call.process == process) first = std::min(first, call.start_ns);
  return first;
}

/// A step ends where its optimizer step ends. With several optimizers it is the first one's.
std::vector<StepRange> detected(const Trace& trace) {
  std::map<std::uint32_t, std::string> optimizer;
  auto ends = marked(trace, [&](const HostRange& range, const std::string& name) {
    return name.starts_with(kOptimizer) &&
           optimizer.try_emplace(range.process, name).first->second == name;
  });
  std::map<std::uint32_t, std::pair<std::int64_t, int>> last;  // end and number, by process
  for (StepRange& step : ends) {
    const auto at = last.find(step.process);
    const int number = at == last.end() ? 1 : at->second.second + 1;
    step.start_ns = at == last.end() ? first_of(trace, step.process) : at->second.first;
    step.source = "detected";
    step.name = "step " + std::to_string(number);
    last[step.process] = {step.end_ns, number};
  }
  return ends;
}

std::vector<StepRange> from_begin_to_begin(std::vector<StepRange> steps) {
  struct Next {
    std::int64_t start_ns;
    StepRange* last;
  };
  std::map<std::uint32_t, Next> next;  // by process
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const auto [at, last] = next.try_emplace(step->process, Next{step->end_ns, &*step});
    if (!last) {
      const std::int64_t end_ns = std::max(step->start_ns, at->second.start_ns);
      if (end_ns > step->end_ns) at->second.last->whole = false;
      step->end_ns = end_ns;
    }
    at->second.start_ns = step->start_ns;
  }
  return steps;
}

}  // namespace

bool is_step_name(std::string_view name) {
  return name.starts_with("ProfilerStep#") || step_name(name) == StepName::certain;
}

std::string name_of_steps(std::string_view name) {
  const std::size_t first = name.find_first_of(kDigits);
  if ((!is_step_name(name) && step_name(name) == StepName::no) || first == name.npos)
    return std::string(name);
  const std::size_t behind = std::min(name.find_first_not_of(kDigits, first), name.size());
  return std::string(name.substr(0, first)).append("N").append(name.substr(behind));
}

std::string_view module_of_range(std::string_view name) {
  for (const std::string_view pass : {"forward ", "backward "})
    if (name.starts_with(pass)) return name.substr(pass.size());
  return {};
}

std::optional<std::int64_t> step_number(const std::string& name) {
  const std::size_t last = name.find_last_of(kDigits);
  if (last == name.npos) return {};
  const std::size_t before = name.find_last_not_of(kDigits, last);
  const std::size_t first = before == name.npos ? 0 : before + 1;
  if (last - first >= 18) return {};
  return std::stoll(name.substr(first, last + 1 - first));
}

std::vector<StepRange> marked_steps(const Trace& trace) {
  std::vector<StepRange> steps = recorded_steps(trace);
  std::set<std::uint32_t> known;
  for (const StepRange& step : steps) known.insert(step.process);
  const auto others = [&](auto passes) {
    return marked(trace, [&](const HostRange& range, const std::string& name) {
      return !known.contains(range.process) && passes(range, name);
    });
  };
  // In files of 2021 they are operators.
  std::vector<StepRange> more = others(
      [](const HostRange&, const std::string& name) { return name.starts_with("ProfilerStep#"); });
  if (more.empty())
    more = others([](const HostRange& range, const std::string& name) {
      return range.kind != RangeKind::cpu_op && is_step_name(name);
    });
  steps.insert(steps.end(), more.begin(), more.end());
  sort_by_start(steps);
  if (!steps.empty()) return from_begin_to_begin(std::move(steps));
  steps = detected(trace);
  if (!steps.empty()) return steps;
  steps = numbered(others([](const HostRange& range, const std::string& name) {
    return range.kind != RangeKind::cpu_op && step_name(name) == StepName::likely;
  }));
  if (steps.size() < 2) return {};  // nothing that comes again
  return from_begin_to_begin(std::move(steps));
}

std::vector<StepRange> step_ranges(const Trace& trace, const std::vector<std::uint32_t>& launch) {
  if (trace.steps) return *trace.steps;
  std::vector<StepRange> steps = marked_steps(trace);
  return steps.empty() ? repeating_steps(trace, launch) : steps;
}

}  // namespace nsa::trace
