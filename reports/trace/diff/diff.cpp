#include "nsa/trace/diff.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "analyse/sums.hpp"
#include "profile.hpp"
#include "ratio.hpp"
#include "samples.hpp"

namespace nsa::trace {
namespace {

constexpr double kAlpha = .05;
constexpr double kSmallShare = .01;  // of the time of all kernels: less decides nothing
constexpr double kOpenShare = .1;    // up to this may stay open in a neutral verdict

DiffVerdict verdict_of(const Ratio& ratio, double margin) {
  const double above = 1 + margin, below = 1 / (1 + margin);
  if (ratio.low > above) return DiffVerdict::worse;
  if (ratio.high < below) return DiffVerdict::better;
  return ratio.low >= below && ratio.high <= above ? DiffVerdict::neutral
                                                   : DiffVerdict::inconclusive;
}

void judge(DiffRow& row, const std::optional<Ratio>& ratio, double margin) {
  if (!ratio) return;
  row.ratio = ratio->value;
  row.low = ratio->low;
  row.high = ratio->high;
  row.verdict = verdict_of(*ratio, margin);
}

/// Where calls stand in the same order, what differs from call to call is on both sides: of the two
/// intervals the narrower one, each at half of what both may err.
std::optional<Ratio> ratio_of_calls(const SampleSet& samples, double alpha) {
  if (!samples.in_order || samples.a == samples.b) return ratio_of(samples.a, samples.b, alpha);
  const auto apart = ratio_of(samples.a, samples.b, alpha / 2);
  const auto in_order = ratio_in_order(samples.a, samples.b, alpha / 2);
  if (!apart || !in_order) return apart;
  return in_order->high / in_order->low < apart->high / apart->low ? in_order : apart;
}

using Side = std::vector<Profile>;
using Named = std::map<std::string, Samples> Profile::*;

std::vector<const Samples*> in_runs(const Side& side, Named what, const std::string& name) {
  std::vector<const Samples*> out;
  for (const Profile& run : side) {
    const auto at = (run.*what).find(name);
    out.push_back(at == (run.*what).end() ? nullptr : &at->second);
  }
  return out;
}

void count(const std::vector<const Samples*>& runs, std::int64_t& calls, std::int64_t& total_ns) {
  for (const Samples* run : runs) {
    if (!run) continue;
    calls += static_cast<std::int64_t>(run->calls.size());
    add_to(total_ns, run->total_ns);
  }
}

std::vector<DiffRow> rows_of(const Side& a, const Side& b, Named what, double margin,
                             double alpha_of_all) {
  std::set<std::string> names;
  for (const Side* side : {&a, &b})
    for (const Profile& run : *side)
      for (const auto& [name, samples] : run.*what) names.insert(name);
  const double alpha = alpha_of_all / static_cast<double>(std::max<std::size_t>(1, names.size()));
  std::vector<DiffRow> rows;
  for (const std::string& name : names) {
    const auto in_a = in_runs(a, what, name), in_b = in_runs(b, what, name);
    const SampleSet samples = samples_of(in_a, in_b);
    DiffRow row;
    row.name = name;
    row.unit = samples.unit;
    count(in_a, row.count_a, row.total_ns_a);
    count(in_b, row.count_b, row.total_ns_b);
    judge(row, ratio_of_calls(samples, alpha), margin);
    rows.push_back(std::move(row));
  }
  const auto change = [](const DiffRow& row) { return std::abs(row.total_ns_b - row.total_ns_a); };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const DiffRow& x, const DiffRow& y) { return change(x) > change(y); });
  return rows;
}

bool has_steps(const Side& side) {
  return std::all_of(side.begin(), side.end(), [](const Profile& p) { return !p.step_ns.empty(); });
}

DiffRow steps_row(const Side& a, const Side& b, double margin, double alpha) {
  const SampleSet samples = step_samples(a, b);
  DiffRow row;
  row.name = "steps";
  row.unit = samples.unit;
  const auto add = [](const Side& side, std::int64_t& steps, std::int64_t& total_ns) {
    for (const Profile& run : side) {
      steps += static_cast<std::int64_t>(run.step_ns.size());
      for (const std::int64_t ns : run.step_ns) add_to(total_ns, ns);
    }
  };
  add(a, row.count_a, row.total_ns_a);
  add(b, row.count_b, row.total_ns_b);
  judge(row, ratio_of(samples.a, samples.b, alpha), margin);
  return row;
}

/// Where no step is marked: what all kernels say that say anything, by their time. Rows of little
/// time neither decide nor keep the others from being neutral.
DiffVerdict verdict_of_all(const std::vector<DiffRow>& rows) {
  std::map<DiffVerdict, double> ns;
  double all = 0;
  for (const DiffRow& row : rows) {
    const auto time = static_cast<double>(std::max(row.total_ns_a, row.total_ns_b));
    ns[row.verdict] += time;
    all += time;
  }
  const bool better = ns[DiffVerdict::better] > kSmallShare * all;
  const bool worse = ns[DiffVerdict::worse] > kSmallShare * all;
  if (better != worse) return worse ? DiffVerdict::worse : DiffVerdict::better;
  if (better) return DiffVerdict::inconclusive;
  return ns[DiffVerdict::inconclusive] > kOpenShare * all ? DiffVerdict::inconclusive
                                                          : DiffVerdict::neutral;
}

/// Kernels that got slower while the step did not: the next change may show them.
void note_worse_kernels(TraceDiff& out) {
  if (!out.steps || (out.verdict != DiffVerdict::better && out.verdict != DiffVerdict::neutral))
    return;
  std::int64_t all = 0;
  for (const DiffRow& row : out.kernels) add_to(all, row.total_ns_b);
  for (const DiffRow& row : out.kernels) {
    if (row.verdict != DiffVerdict::worse ||
        static_cast<double>(row.total_ns_b) < kSmallShare * static_cast<double>(all))
      continue;
    char ratio[32];
    std::snprintf(ratio, sizeof ratio, "%.3f", row.ratio.value_or(1));
    out.notes.push_back("slower without a slower step: " + row.name + ", " + ratio + " times");
  }
}

}  // namespace

std::string_view to_string(DiffVerdict verdict) noexcept {
  switch (verdict) {
    case DiffVerdict::better:
      return "better";
    case DiffVerdict::worse:
      return "worse";
    case DiffVerdict::neutral:
      return "neutral";
    case DiffVerdict::inconclusive:
      return "inconclusive";
    case DiffVerdict::not_comparable:
      return "not_comparable";
  }
  return "";
}

namespace {

Side profiles_of(const std::vector<Trace>& traces) {
  Side out;
  for (const Trace& trace : traces) out.push_back(profile_of(trace));
  return out;
}

/// All runs against the first, so that each reason stands once.
void judge_all(const std::vector<Trace>& a, const std::vector<Trace>& b, const Side& in_a,
               const Side& in_b, TraceDiff& out) {
  const auto judge_side = [&](const std::vector<Trace>& traces, const Side& side) {
    for (std::size_t i = 0; i < traces.size(); ++i)
      judge_comparable(a.front(), traces[i], in_a.front(), side[i], out);
  };
  judge_side(b, in_b);
  if (a.size() > 1) judge_side(a, in_a);
  for (auto* texts : {&out.reasons, &out.notes}) {
    std::sort(texts->begin(), texts->end());
    texts->erase(std::unique(texts->begin(), texts->end()), texts->end());
  }
}

/// A step that changes while its kernels do not: that may be the program, or the process.
void note_host_only(TraceDiff& out) {
  if (!out.steps || out.steps->unit == "run") return;
  if (out.verdict != DiffVerdict::better && out.verdict != DiffVerdict::worse) return;
  for (const DiffRow& row : out.kernels)
    if (row.verdict == out.verdict) return;
  out.notes.push_back(
      "no kernel changed that way: the difference is time between the GPU's operations, which "
      "varies from process to process; give two runs of each (--more-a, --more-b)");
}

/// Steps that go on until the next one begins, as PyTorch's, have no last one to compare.
void note_last_step(const Side& a, const Side& b, TraceDiff& out) {
  const auto any = [](const Side& side) {
    return std::ranges::any_of(side, &Profile::last_left_out);
  };
  if (!out.steps || (!any(a) && !any(b))) return;
  const std::string whose = !any(b) ? " of A" : !any(a) ? " of B" : "";
  out.notes.push_back("the last step" + whose +
                      " is not compared: a step goes on until the next one begins, and after it "
                      "there is none");
}

std::string paths_of(const std::vector<Trace>& traces) {
  std::string out = traces.front().source.path;
  if (traces.size() > 1) out += " and " + std::to_string(traces.size() - 1) + " more";
  return out;
}

}  // namespace

TraceDiff diff_traces(const std::vector<Trace>& a, const std::vector<Trace>& b, double margin,
                      std::size_t comparisons) {
  expects(!a.empty() && !b.empty() && comparisons > 0, "a trace on both sides, to be compared");
  const double alpha = kAlpha / static_cast<double>(comparisons);
  const Side in_a = profiles_of(a), in_b = profiles_of(b);
  TraceDiff out;
  out.path_a = paths_of(a);
  out.path_b = paths_of(b);
  out.margin = margin;
  judge_all(a, b, in_a, in_b, out);
  if (has_steps(in_a) && has_steps(in_b)) out.steps = steps_row(in_a, in_b, margin, alpha);
  out.stages = rows_of(in_a, in_b, &Profile::stages, margin, alpha);
  out.kernels = rows_of(in_a, in_b, &Profile::launches, margin, alpha);
  if (!out.reasons.empty()) {
    out.verdict = DiffVerdict::not_comparable;
  } else {
    out.verdict = out.steps ? out.steps->verdict : verdict_of_all(out.kernels);
  }
  note_last_step(in_a, in_b, out);
  note_host_only(out);
  note_worse_kernels(out);
  return out;
}

}  // namespace nsa::trace
