#include "emit_support.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "catch.hpp"
#include "decide/decision.hpp"
#include "decide/tables/classes.hpp"
#include "recorded_rows.hpp"

namespace emitting {
namespace {

Device h200() {
  Device device;
  device.backend = Backend::cuda;
  device.name = "NVIDIA H200";
  device.compute_capability = 90;
  return device;
}

/// What an env file makes the project run, by stage.
std::map<Stage, SwitchTarget> routed(const std::string& env, const Problem& p,
                                     const Device& device) {
  const EnvSnapshot snapshot = snapshot_environment(parse_env_file(env, "nsa.env"));
  CHECK(snapshot.warnings.empty());
  CHECK(snapshot.refused.empty());
  std::map<Stage, SwitchTarget> result;
  for (const ProjectRoute& route : vibe().route(snapshot, p, device))
    result[route.stage] = route.path;
  return result;
}

/// Powers of two, their neighbours, and what lies about one fifth of an octave apart.
std::set<std::int64_t> lengths() {
  std::set<std::int64_t> result;
  for (double at = 1; at < 300'000; at *= 1.15) result.insert(std::llround(at));
  for (std::int64_t at = 1; at < 300'000; at *= 2) result.insert({at, at + 1, at + 31});
  return result;
}

/// The path that was decided where the axis has that value, or nothing.
std::optional<SwitchTarget> decided_at(const SettledStage& stage, std::int64_t at) {
  for (const PathRange& range : stage.decided) {
    if (range.from <= at && at < range.to) return range.path;
  }
  return std::nullopt;
}

}  // namespace

Problem problem_at(const ProblemClass& of, std::int64_t length) {
  Problem p = tuner::problem_of(of);
  std::ranges::fill(of.phase == Phase::decode ? p.context_lens : p.seq_lens, length);
  return p;
}

const Project& vibe() { return find_project("nsa-vibe"); }

std::optional<Emitted> emitted(const DecideInput& input, const ProblemClass& of,
                               const std::optional<Problem>& longest) {
  const auto emission = emit_from_rows(vibe(), input, of, longest);
  if (!emission) return std::nullopt;
  DecideInput own = only(vibe(), input);
  own.rows = own.rows.only([&](const Observation& row) { return class_of(*row.problem) == of; });
  ClassDecisions decided;
  decided.problem_class = of;
  const ThresholdTable table = decide_ranges(where_paths_met(vibe(), own)).table;
  if (!table.classes.empty()) decided = table.classes.front();
  const PathTimes times = path_times(vibe(), own, of);
  return Emitted{*emission, settle(vibe(), decided, own.variants, times, input.device, {}, longest),
                 of, input.device};
}

std::size_t check_read_back(const Emitted& e) {
  const std::string env = env_text(e.emission);
  INFO(env);
  std::size_t compared = 0;
  for (const std::int64_t length : lengths()) {
    const Problem p = problem_at(e.of, length);
    const auto runs = routed(env, p, e.device);
    for (const SettledStage& stage : e.settled.stages) {
      const std::int64_t at = axis_value(p, stage.axis);
      if (at < 1) continue;
      INFO(to_string(stage.stage) << " at " << length);
      const SwitchTarget settled = stage.path_at(at, e.of);
      CHECK(to_string(runs.at(stage.stage)) == to_string(settled));
      const auto decided = decided_at(stage, at);
      if (stage.exact && decided) CHECK(to_string(settled) == to_string(*decided));
      ++compared;
    }
  }
  return compared;
}

DecideInput recorded() {
  DecideInput input;
  input.device = h200();
  input.variants = catalog_traits(Backend::cuda);
  input.options.bootstrap = 100;
  input.rows = test::recorded_rows();
  return input;
}

DecideInput made_up(const std::vector<Session>& sessions, std::int64_t head_dim_v,
                    const std::string& executor) {
  DecideInput input;
  input.device = h200();
  for (const Session& s : sessions) {
    for (Measurement row : sim::measure(s)) {
      row.problem.dtype = Dtype::bf16;
      row.problem.head_dim_v = head_dim_v;
      row.executor = executor;
      input.rows.add(row);
    }
    const DecideInput one = sim::input_of(s, {});
    input.variants.insert(input.variants.end(), one.variants.begin(), one.variants.end());
    input.options = one.options;
  }
  return input;
}

Emitted emitted_of(const std::vector<Session>& sessions) {
  const DecideInput input = made_up(sessions);
  return emitted(input, class_of(*input.rows.rows().front().problem)).value();
}

Session session(const std::string& stage, Times times) {
  Session s;
  s.stage = stage;
  s.variants = std::move(times);
  if (stage == "attend_window") s.lengths = {16, 32, 64, 128, 256, 512};
  return s;
}

Truth constant(double ns) {
  return [ns](double) { return ns; };
}

Truth better_from(double length) { return sim::crossing_at(length, 0.2, constant(1e5)); }

}  // namespace emitting
