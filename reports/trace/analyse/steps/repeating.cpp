// Steps that nobody marked: kernels of a training loop come in the same order in every step. A
// kernel that is launched once a step stands a step apart from itself, and what lies between two of
// its launches is the same each time.
#include "steps.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "analyse/launches.hpp"

namespace nsa::trace {
namespace {

constexpr std::size_t kFewestSteps = 3;
constexpr std::size_t kFewestKernels = 4;  // of one step: fewer are a loop within a step
constexpr double kAlike = .6;              // of the steps: are the same kernel for kernel
constexpr double kCovered = .5;            // of the process's kernels: are in alike steps

using Ops = std::vector<std::uint32_t>;  // kernels of one stream, in order
using Token = std::uint64_t;             // name and launch shape

/// A kernel by which steps begin.
struct Anchor {
  Ops at;                   // into the stream's kernels
  std::size_t kernels = 0;  // of a step: of most of them
  std::int64_t idle_before_ns = 0;
};

Token token_of(const GpuOp& op) { return std::uint64_t{op.name} << 32 | op.shape; }

/// Sums of powers: two pieces of the sequence are alike if their hashes are.
class Hashes {
 public:
  Hashes(const Trace& trace, const Ops& ops) : sum_(1, 0), power_(1, 1) {
    for (const std::uint32_t i : ops) {
      const Token token = token_of(trace.ops[i]) * 0x9e3779b97f4a7c15ULL;
      sum_.push_back(sum_.back() * kBase + (token ^ token >> 29));
      power_.push_back(power_.back() * kBase);
    }
  }
  std::uint64_t of(std::size_t begin, std::size_t end) const {
    return sum_[end] - sum_[begin] * power_[end - begin];
  }

 private:
  static constexpr std::uint64_t kBase = 0x5851f42d4c957f2dULL;
  std::vector<std::uint64_t> sum_, power_;
};

/// Kernels of the stream of each process that has most.
std::map<std::uint32_t, Ops> main_streams(const Trace& trace) {
  std::map<std::uint32_t, std::map<std::pair<std::int32_t, std::int64_t>, Ops>> streams;
  for (std::uint32_t i = 0; i < trace.ops.size(); ++i) {
    const GpuOp& op = trace.ops[i];
    if (op.kind == OpKind::kernel) streams[op.process][{op.device, op.stream}].push_back(i);
  }
  std::map<std::uint32_t, Ops> out;
  for (auto& [process, of_process] : streams)
    for (auto& [stream, ops] : of_process)
      if (ops.size() > out[process].size()) out[process] = std::move(ops);
  return out;
}

/// Only steps that are alike count as found: what lies between them may be all of the program. Two
/// of them have to follow one another, else each is a part of a step.
bool repeats(Anchor& anchor, const Hashes& hashes, std::size_t kernels) {
  const Ops& at = anchor.at;
  std::vector<std::uint64_t> steps;
  std::unordered_map<std::uint64_t, std::size_t> alike;
  std::uint64_t common = 0;
  std::size_t most = 0;
  for (std::size_t i = 0; i + 1 < at.size(); ++i) {
    steps.push_back(hashes.of(at[i], at[i + 1]));
    const std::size_t count = ++alike[steps.back()];
    if (count <= most) continue;
    most = count;
    common = steps.back();
    anchor.kernels = at[i + 1] - at[i];
  }
  const auto in_a_row = [&](std::uint64_t a, std::uint64_t b) {
    return a == common && b == common;
  };
  const auto covered = static_cast<double>(most * anchor.kernels);
  return static_cast<double>(most) >= kAlike * static_cast<double>(steps.size()) &&
         anchor.kernels >= kFewestKernels && covered >= kCovered * static_cast<double>(kernels) &&
         std::adjacent_find(steps.begin(), steps.end(), in_a_row) != steps.end();
}

/// Of the kernels that come a step apart the one before which the GPU is idle longest.
std::optional<Anchor> anchor_of(const Trace& trace, const Ops& ops) {
  std::unordered_map<Token, Anchor> anchors;
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    Anchor& anchor = anchors[token_of(trace.ops[ops[i]])];
    anchor.at.push_back(i);
    if (i > 0)
      anchor.idle_before_ns +=
          std::max<std::int64_t>(0, trace.ops[ops[i]].start_ns - trace.ops[ops[i - 1]].end_ns);
  }
  const Hashes hashes(trace, ops);
  std::optional<Anchor> best;
  for (auto& [token, anchor] : anchors) {
    if (anchor.at.size() < kFewestSteps + 1) continue;
    if (best && anchor.at.size() > best->at.size()) continue;
    const bool fewer = !best || anchor.at.size() < best->at.size();
    const auto rank = [](const Anchor& a) { return std::pair(a.idle_before_ns, a.at.front()); };
    if (!fewer && rank(anchor) <= rank(*best)) continue;
    if (repeats(anchor, hashes, ops.size())) best = anchor;
  }
  return best;
}

/// On the host's line where every step's launch is known, else on the device's. What stands after
/// the last begin is a step if it is as long as the others.
void add_steps_of(const Trace& trace, const std::vector<std::uint32_t>& launch, const Ops& ops,
                  const Anchor& anchor, std::vector<StepRange>& out) {
  Ops begins = anchor.at;
  const std::size_t behind = begins.back() + anchor.kernels;
  if (behind < ops.size()) begins.push_back(static_cast<std::uint32_t>(behind));
  bool launched = launch[ops.back()] != kNone;
  for (const std::uint32_t at : begins) launched &= launch[ops[at]] != kNone;
  const auto begin = [&](std::uint32_t op) {
    return launched ? trace.calls[launch[op]].start_ns : trace.ops[op].start_ns;
  };
  for (std::size_t i = 0; i < anchor.at.size(); ++i) {
    const bool open = i + 1 == begins.size();
    if (open && behind > ops.size()) break;
    const std::uint32_t first = ops[begins[i]];
    const std::int64_t end = open ? begin(ops.back()) + 1 : begin(ops[begins[i + 1]]);
    out.push_back({"step " + std::to_string(i + 1), "repeating_kernels", begin(first),
                   std::max(begin(first), end), trace.ops[first].process, !launched});
  }
}

}  // namespace

std::vector<StepRange> repeating_steps(const Trace& trace,
                                       const std::vector<std::uint32_t>& launch) {
  std::vector<StepRange> out;
  for (const auto& [process, ops] : main_streams(trace))
    if (const auto anchor = anchor_of(trace, ops)) add_steps_of(trace, launch, ops, *anchor, out);
  std::stable_sort(out.begin(), out.end(),
                   [](const StepRange& a, const StepRange& b) { return a.start_ns < b.start_ns; });
  return out;
}

}  // namespace nsa::trace
