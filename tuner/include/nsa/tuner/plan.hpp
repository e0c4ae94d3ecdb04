// From a spec to jobs: pure. The catalog and the device are arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nsa/schemas/device.hpp"
#include "nsa/schemas/sweep_spec.hpp"
#include "nsa/schemas/variant.hpp"
#include "nsa/schemas/worker.hpp"

namespace nsa {
enum class Role : std::uint8_t;  // nsa/kernels/catalog.hpp
}

namespace nsa::tuner {

/// A variant that a worker offers, ours or foreign, with what `describe` said of it.
struct Candidate {
  VariantId id;
  std::string source_hash;
  std::string executor = "nsatune";
  std::int64_t worker = 0;                   // index of the worker command that brings it
  worker::Orders order = {};                 // how its work grows in each axis, as its worker says
  Direction direction = Direction::forward;  // of the problems that it is asked about
};

/// `candidate`, `slow_path`, ...: as `roles` of a sweep and `variants --json` write it.
std::string_view role_name(Role role) noexcept;

/// Support and cost of a candidate on a problem, as the worker (or our catalog) describes it.
struct Description {
  bool supported = true;
  Outcome outcome = Outcome::unsupported;  // when not supported
  std::string reason;
  double flop = 0, bytes = 0;
  std::int64_t workspace_bytes = 0;
};

/// Variants that compete on one problem and are measured interleaved.
struct Contest {
  std::string id;  // hash of the problem, the stages and how they are launched
  Problem problem;
  std::vector<std::string> stages;
  std::vector<Candidate> variants;
  std::vector<Description> described;  // of each variant, in the same order
  double estimated_s = 0;              // of the whole contest at min_rounds
  bool held_out = false;               // judges a decision and takes no part in it
  LaunchMode launch = LaunchMode::eager;
  std::optional<std::int64_t> min_rounds = {}, max_rounds = {};  // instead of the policy's
  /// Number of its first worker process: a contest that is measured once more, its finalists alone
  /// perhaps, begins after the processes that it had. Its own rows alone decide when it ends.
  std::int64_t first_process = 0;
};

/// What will not be measured, and why: becomes a row with that outcome.
struct Skipped {
  Problem problem;
  Candidate variant;
  Outcome outcome = Outcome::unsupported;
  std::string reason;
  LaunchMode launch = LaunchMode::eager;
  bool held_out = false;  // as Contest::held_out
};

struct Plan {
  std::vector<Contest> contests;  // cheapest first, so that a budget leaves the most lengths
  std::vector<Skipped> skipped;
  std::vector<Contest> left_out;  // over the spec's contest_limit_s, cheapest first
  double estimated_s = 0;
};

using Describe = Description (*)(void* context, const Problem&, const Candidate&);

/// All problems of a spec, each valid, in the order of the file. InputError with a JSON pointer.
std::vector<Problem> expand(const SweepSpec& spec);
/// Those of one family of it.
std::vector<Problem> expand(const SweepSpec& spec, const ProblemFamily& family);
/// The contests of a spec. `describe` is asked once per problem and candidate. `stages` and
/// `variants` of the spec hold for all candidates; those of a family for ours, and a foreign
/// executor's stages are measured on the families that name them, or on all where none does.
Plan make_plan(const SweepSpec& spec, const Device& device,
               const std::vector<Candidate>& candidates, Describe describe, void* context);
/// Whether a name, a name with its point ("fused_query.bq=64", before "fused_query.bq64") or a
/// whole id matches one of the globs ('*' and '?'); an empty list matches everything.
bool matches_any(const std::vector<std::string>& globs, const VariantId& id);
/// The policy of contests that are launched in that way.
MeasurePolicy with_launch(MeasurePolicy policy, LaunchMode launch);
/// The timer of the policy, or the device's own: host on a CPU, events on CUDA.
Timer timer_of(const MeasurePolicy& policy, const Device& device);

/// What --stage, --variant and --axis ask for.
struct NarrowOptions {
  std::vector<std::string> stages;
  std::vector<std::string> variants;
  std::vector<std::pair<std::string, std::vector<std::string>>> axes;
  bool foreign = false;  // a worker of somebody else takes part: families that name none of the
                         // stages stay, since theirs may be a stage that none names
};
/// "seq_len=512,2048" as an axis. InputError on an unknown axis, or no value.
std::pair<std::string, std::vector<std::string>> parse_axis_option(std::string_view text);
/// The part of a spec that the options name. An axis keeps the families that have it, with the
/// given values; families whose base has another value of it are left out. Where no family has the
/// axis, all get it. InputError when nothing is left.
SweepSpec narrow(SweepSpec spec, const NarrowOptions& options);
/// The same problem with `value` on `axis`. InputError names the axis and what it takes.
void set_axis(Problem& problem, std::string_view axis, std::string_view value);

/// Names of the specs that come with the program: quick, nightly, default, full.
std::vector<std::string> preset_names();
/// Text of a preset (JSON), or nothing. `default` is another one for CUDA: the lengths to which
/// GPUs are used, and rows of ours by name, since the slowest take seconds there.
std::optional<std::string_view> preset_text(std::string_view name, Backend backend);

/// What all measurements of a candidate on a problem share in their keys, as text: problem,
/// variant, executor, source hash and policy.
std::string job_subject(const Problem& problem, const Candidate& candidate,
                        const MeasurePolicy& policy, Timer timer);
/// Key of one measurement of a subject for resume.
std::string job_key(const std::string& subject, std::int64_t process, std::int64_t round,
                    std::int64_t position, bool control);
/// Key of the one row of a variant that cannot be measured on a problem (any outcome but ok, or a
/// wrong result): at most one a contest.
std::string failure_key(const Problem& problem, const Candidate& candidate,
                        const MeasurePolicy& policy, Timer timer);

}  // namespace nsa::tuner
