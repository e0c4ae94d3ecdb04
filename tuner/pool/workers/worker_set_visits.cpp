// The timed visits of a process: what is asked, whether its samples can be true, and their noise.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "nsa/tuner/observations.hpp"
#include "plan/estimate.hpp"
#include "pool/account.hpp"
#include "pool/workers/worker_set.hpp"

namespace nsa::tuner {
namespace {

/// Whether samples began in this visit by the clock of this host: one that plays recorded times
/// back does not run slower because others have its cores.
bool by_this_clock(const std::vector<Sample>& samples, TimePoint visit) {
  const std::chrono::nanoseconds begin = visit.time_since_epoch();
  const std::chrono::nanoseconds end = Clock::now().time_since_epoch();
  return std::ranges::all_of(samples, [&](const Sample& sample) {
    return sample.start_ns >= begin.count() && sample.start_ns <= end.count();
  });
}

void add_note(Measurement& row, const std::string& what) {
  row.note = row.note.empty() ? what : what + "; " + row.note;
}

}  // namespace

/// By our own cost of the mathematics, where we know it: a worker may describe none.
Believable WorkerSet::believable(const Contestant& contestant, double wall_s) {
  Cost cost = known_cost(contest_.problem, contestant.candidate.id);
  if (cost == Cost{}) cost = contestant.cost();
  const Backend backend = device_of(shared_.input, contestant.candidate).backend;
  const bool simulated = client(contestant).hello().simulated;
  return {1e9 * least_plausible_s(cost, backend), simulated ? std::nullopt : std::optional(wall_s),
          backend};
}

std::int64_t WorkerSet::samples_for(const Contestant& contestant) const {
  const double sample_s = std::max(contestant.sample_s.value_or(0), 1e-9);
  const double fits = std::floor(policy_.visit_target_s / sample_s);
  return static_cast<std::int64_t>(
      std::clamp(fits, 1.0, std::max(1.0, static_cast<double>(policy_.samples))));
}

worker::MeasureRequest WorkerSet::measure_request(const Contestant& contestant) const {
  worker::MeasureRequest request;
  request.handle = contestant.handle.value_or(0);
  request.samples = samples_for(contestant);
  request.cold = policy_.cold;
  request.launch = policy_.launch;
  request.timer = timer_of(policy_, shared_.input.device);
  return request;
}

double WorkerSet::measure_deadline_s(const Contestant& contestant) const {
  return deadline_s(contestant.sample_s.value_or(0) * static_cast<double>(samples_for(contestant)));
}

Measurement WorkerSet::visit_row(const Contestant& contestant, const Visit& visit,
                                 const std::string& pair_id) const {
  Measurement row = shared_.writer.blank(contest_.problem, contestant.candidate, contestant.cost());
  row.launch = contest_.launch;
  row.job_key =
      job_key(contestant.subject, visit.process, visit.round, visit.position, contestant.control);
  row.process = visit.process;
  row.round = visit.round;
  row.position = visit.position;
  row.pair_id = pair_id;
  row.control = contestant.control;
  row.held_out = contest_.held_out;
  row.verification = original_of(contestant).verification;
  row.worst_row_error = original_of(contestant).worst_row_error;
  row.first_call_ns = contestant.prepared.first_call_ns;
  row.workspace_bytes = contestant.prepared.workspace_bytes;
  return row;
}

void WorkerSet::begin_round() { power_capped_.reset(); }

void WorkerSet::measure(Contestant& contestant, const Visit& visit, const std::string& pair_id) {
  const worker::MeasureRequest request = measure_request(contestant);
  const std::int64_t asked = request.samples;
  std::optional<CoreWait> waited;
  if (policy_.noise_gate && shared_.input.device.backend == Backend::cpu)
    waited.emplace(client(contestant).pid());
  const TimePoint start = Clock::now();
  auto answer = client(contestant)
                    .ask(request, doing("measuring", contestant), measure_deadline_s(contestant));
  const double wall_s = seconds_since(start);
  shared_.breakdown.measure_s += wall_s;
  if (answer.interrupted) throw Interrupted{};
  fail_repeats(static_cast<std::size_t>(contestant.candidate.worker));
  if (contestant.out) return;
  if (!answer) return fail_request(contestant, answer.outcome, answer.reason, visit);
  if (const auto lie = find_lie(*answer.reply, asked, believable(contestant, wall_s)))
    return fail(contestant, Outcome::bad_reply, std::string(kNotBelieved) + *lie, visit);
  contestant.sample_s = wall_s / static_cast<double>(asked);

  Measurement row = visit_row(contestant, visit, pair_id);
  take_samples(row, std::move(*answer.reply));
  const Block block{visit.process, visit.round, visit.half};
  if (!by_this_clock(row.samples, start)) waited.reset();
  if (policy_.noise_gate) row.reason = noise_of(contestant, block, row, waited, wall_s);
  if (row.reason.empty()) {
    contestant.add_visit(block, row);
  } else {
    row.outcome = Outcome::noisy;
    contestant.add_noisy(block, row);
  }
  if (given_up(contestant, contestants_, policy_))
    add_note(row, why_given_up(contestant, contestants_));
  else if (const auto why = why_beaten(contestant, contestants_, policy_, visit.process))
    add_note(row, contestant.beaten[visit.process] = *why);
  shared_.writer.commit_soon(std::move(row));
}

std::string WorkerSet::noise_of(const Contestant& contestant, const Block& block, Measurement& row,
                                const std::optional<CoreWait>& waited, double visit_s) {
  if (const std::string reason = throttled_by(row.clocks); !reason.empty())
    return "throttled: " + reason;
  const auto processes = shared_.turn.processes();
  if (const std::string reason =
          processes ? shared_.neighbours.noise(shared_.input.device, *processes) : "";
      !reason.empty())
    return reason;
  if (const std::string reason = waited ? waited->noise(visit_s) : ""; !reason.empty())
    return reason;
  if (std::string reason = shared_.power_limits.noise(row.clocks, *row.median_ns); !reason.empty())
    return reason;
  const bool capped = power_capped(row.clocks);
  if (capped != power_capped_.value_or(capped))
    return capped ? "at the power limit, unlike the first visit of its round"
                  : "below the power limit, unlike the first visit of its round";
  power_capped_ = capped;
  if (capped) add_note(row, "at the power limit");
  return control_noise(contestant, block, *row.median_ns);
}

/// Compares controls of one half of a round; the later one of two that are apart is noisy.
std::string WorkerSet::control_noise(const Contestant& contestant, const Block& block,
                                     double median_ns) {
  for (const Contestant& other : contestants_) {
    if (&other == &contestant || !same_variant(other, contestant)) continue;
    const TimedVisit* const control = other.find_visit(block);
    if (!control) continue;
    std::string noise = shared_.controls.noise(median_ns, control->ns);
    if (noise.empty()) shared_.controls.add(median_ns, control->ns);
    return noise;
  }
  return "";
}

}  // namespace nsa::tuner
