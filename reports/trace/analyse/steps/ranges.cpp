#include "ranges.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "steps.hpp"

namespace nsa::trace {
namespace {

constexpr std::string_view kOptimizer = "Optimizer.step";

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// Ranges whose name and kind pass; of those that overlap in a process the first stays.
template <class Passes>
std::vector<StepRange> marked(const Trace& trace, Passes passes) {
  std::vector<StepRange> out;
  std::map<std::uint32_t, std::int64_t> last_end;
  for (const HostRange& range : trace.ranges) {
    if (range.open || !passes(range, trace.names.text(range.name))) continue;
    const auto [at, first] = last_end.try_emplace(range.process, range.start_ns);
    if (range.start_ns < at->second) continue;
    at->second = range.end_ns;
    const char* source = range.kind == RangeKind::nvtx ? "nvtx" : "annotation";
    out.push_back(
        {trace.names.text(range.name), source, range.start_ns, range.end_ns, range.process, false});
  }
  return out;
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
  if (name.starts_with("ProfilerStep#")) return true;
  const std::string text = lower(name);
  std::string_view rest = text;
  for (const std::string_view prefix : {"training", "train"}) {
    if (!rest.starts_with(prefix)) continue;
    rest.remove_prefix(prefix.size());
    break;
  }
  const auto skip = [&](std::string_view any) {
    const std::size_t at = rest.find_first_not_of(any);
    rest.remove_prefix(at == rest.npos ? rest.size() : at);
  };
  skip(" _");
  const std::array<std::string_view, 3> words{"step", "iteration", "iter"};
  const auto word = std::find_if(words.begin(), words.end(),
                                 [&](std::string_view w) { return rest.starts_with(w); });
  if (word == words.end()) return false;
  rest.remove_prefix(word->size());
  skip(" _#:=[");
  const bool has_digit = !rest.empty() && rest.front() >= '0' && rest.front() <= '9';
  skip("0123456789");
  return has_digit && (rest.empty() || rest == "]");
}

std::optional<std::int64_t> step_number(const std::string& name) {
  constexpr const char* kDigits = "0123456789";
  const std::size_t last = name.find_last_of(kDigits);
  if (last == name.npos) return {};
  const std::size_t before = name.find_last_not_of(kDigits, last);
  const std::size_t first = before == name.npos ? 0 : before + 1;
  if (last - first >= 18) return {};
  return std::stoll(name.substr(first, last + 1 - first));
}

std::vector<StepRange> marked_steps(const Trace& trace) {
  // In files of 2021 they are operators.
  auto steps = marked(trace, [](const HostRange&, const std::string& name) {
    return name.starts_with("ProfilerStep#");
  });
  if (steps.empty())
    steps = marked(trace, [](const HostRange& range, const std::string& name) {
      return range.kind != RangeKind::cpu_op && is_step_name(name);
    });
  return steps.empty() ? detected(trace) : from_begin_to_begin(std::move(steps));
}

std::vector<StepRange> step_ranges(const Trace& trace, const std::vector<std::uint32_t>& launch) {
  if (trace.steps) return *trace.steps;
  std::vector<StepRange> steps = marked_steps(trace);
  return steps.empty() ? repeating_steps(trace, launch) : steps;
}

}  // namespace nsa::trace
