#include "pool/workers/worker_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "nsa/kernels/catalog.hpp"
#include "nsa/schemas/executor.hpp"
#include "nsa/tuner/wrong_elsewhere.hpp"
#include "plan/estimate.hpp"
#include "pool/account.hpp"
#include "pool/checks/agreement.hpp"
#include "pool/workers/traced_retry.hpp"

namespace nsa::tuner {
namespace {

constexpr double kDeadlineFactor = 50;  // over the estimate: a seed's slow path is 1000 times
                                        // slower than the best, but not than its own first call

Cost cost_of(const Description& described) { return {described.flop, described.bytes}; }

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

WorkerSet::WorkerSet(Shared& shared, const Contest& contest, OutputCheck& check,
                     std::vector<Contestant>& contestants, std::string folder)
    : shared_(shared),
      contest_(contest),
      policy_(with_launch(shared.input.spec.policy, contest.launch)),
      check_(check),
      contestants_(contestants),
      folder_(std::move(folder)) {}

void WorkerSet::begin_process(std::int64_t process) {
  process_ = process;
  const auto number = static_cast<std::size_t>(process - contest_.first_process);
  shared_.turn.use(number % shared_.turn.lanes());
  for (Contestant& contestant : contestants_) {
    contestant.handle.reset();
    contestant.checked = false;
  }
  shared_.turn.release_retired();
  exclude_wrong();
}

void WorkerSet::exclude_wrong() {
  for (Contestant& contestant : contestants_) {
    if (contestant.out) continue;
    const auto* wrong = shared_.verified.find_wrong(contestant.candidate, contest_.problem);
    if (!wrong) continue;
    contestant.verification = Verification::wrong_result;
    const bool here = wrong->tokens == contest_.problem.max_kv_len();
    const std::string reason = here ? wrong->reason : wrong_elsewhere(wrong->tokens, wrong->reason);
    fail(contestant, Outcome::ok, reason, {process_, 0, 0});
  }
}

void WorkerSet::retire() {
  for (std::size_t w = 0; w < shared_.input.workers.size(); ++w) fail_repeats(w);
  for (Contestant& contestant : contestants_) {
    const auto worker = static_cast<std::size_t>(contestant.candidate.worker);
    if (contestant.handle) shared_.turn.retire(worker, *contestant.handle);
    contestant.handle.reset();
  }
}

void WorkerSet::retire_all() { ahead_.retire(shared_.turn); }

void WorkerSet::drop_handles(std::size_t worker) {
  for (Contestant& contestant : contestants_) {
    if (static_cast<std::size_t>(contestant.candidate.worker) == worker) contestant.handle.reset();
  }
}

WorkerClient& WorkerSet::client(const Contestant& contestant) {
  return shared_.turn.client(static_cast<std::size_t>(contestant.candidate.worker));
}

bool WorkerSet::same_variant(const Contestant& a, const Contestant& b) const {
  return a.candidate.id == b.candidate.id && a.candidate.executor == b.candidate.executor;
}

const Contestant& WorkerSet::original_of(const Contestant& contestant) const {
  return *std::find_if(contestants_.begin(), contestants_.end(), [&](const Contestant& other) {
    return !other.control && same_variant(other, contestant);
  });
}

std::string WorkerSet::doing(const char* verb, const Contestant& contestant) const {
  return fmt::format("{} {}", verb, to_string(contestant.candidate.id));
}

double WorkerSet::deadline_s(double estimate_s) const {
  constexpr double kMostS = 24 * 3600;  // a worker may describe any cost
  return std::max(policy_.deadline_s, std::min(kMostS, kDeadlineFactor * estimate_s));
}

bool WorkerSet::wants_handle(const Contestant& contestant) const {
  return !contestant.out && !contestant.handle && !given_up(contestant, contestants_, policy_);
}

const Variant* WorkerSet::row_of(const Candidate& candidate) const {
  if (candidate.executor != kOwnExecutor) return nullptr;
  return find_variant(candidate.id, shared_.input.device.backend, candidate.direction);
}

bool WorkerSet::start_worker(std::size_t index) {
  if (shared_.turn.alive(index)) return true;
  drop_handles(index);
  const auto answer = shared_.turn.start(index);
  if (answer) return true;
  for (Contestant& contestant : contestants_) {
    if (static_cast<std::size_t>(contestant.candidate.worker) == index && !contestant.out)
      fail(contestant, answer.outcome, answer.reason, {process_, 0, 0});
  }
  return false;
}

void WorkerSet::ready() {
  begin_ahead();
  // A worker that dies takes the handles of all its contestants along: again, until all have one.
  // Each turn that loses a worker also puts one contestant out, so this ends. All are prepared
  // before the first is verified, because a worker compares them with one another.
  do {
    prepare_all();
    verify_all();
    for (std::size_t w = 0; w < shared_.input.workers.size(); ++w) fail_repeats(w);
    if (!wanted() && policy_.control) pick_control();
  } while (wanted());
  const Account account(shared_.breakdown.prepare_s);
  shared_.turn.join_ahead();
}

void WorkerSet::begin_ahead() {
  if (std::exchange(ahead_begun_, true)) return;
  const std::size_t lanes = shared_.turn.lanes();
  if (lanes == 1 || !fits_in_lanes(contest_, lanes, shared_.input.device)) return;
  std::vector<PreparedAhead::Job> jobs;
  for (std::size_t i = 0; i < contestants_.size(); ++i) {
    const Contestant& contestant = contestants_[i];
    if (wants_handle(contestant))
      jobs.push_back({i, plain_request(contestant), doing("preparing", contestant),
                      prepare_deadline_s(contestant)});
  }
  ahead_.begin(shared_.turn, std::move(jobs));
}

bool WorkerSet::wanted() const {
  return std::any_of(contestants_.begin(), contestants_.end(),
                     [&](const Contestant& c) { return wants_handle(c); });
}

void WorkerSet::prepare_all() {
  while (wanted()) {
    for (Contestant& contestant : contestants_) {
      if (!wants_handle(contestant)) continue;
      if (shared_.interrupt.requested()) throw Interrupted{};
      if (start_worker(static_cast<std::size_t>(contestant.candidate.worker)) && !contestant.out)
        prepare(contestant);
    }
  }
}

/// Our comparison of one runs while the worker runs the next: nothing is measured meanwhile.
void WorkerSet::verify_all() {
  std::optional<RunningCheck> running;
  for (Contestant& contestant : contestants_) {
    if (shared_.interrupt.requested()) throw Interrupted{};
    if (contestant.handle && !contestant.checked) verify(contestant, running);
  }
  if (running) take_result(*running);
}

void WorkerSet::pick_control() {
  const bool has_one = std::any_of(contestants_.begin(), contestants_.end(),
                                   [](const Contestant& c) { return c.control; });
  if (has_one) return;
  const Contestant* best = nullptr;
  for (const Contestant& contestant : contestants_) {
    if (contestant.out || !contestant.handle) continue;
    if (!best || contestant.prepared.first_call_ns < best->prepared.first_call_ns)
      best = &contestant;
  }
  if (best) contestants_.push_back(control_of(*best));
}

worker::PrepareRequest WorkerSet::plain_request(const Contestant& contestant) const {
  worker::PrepareRequest request;
  request.problem = contest_.problem;
  request.variant = contestant.candidate.id;
  request.seed = shared_.input.spec.seed;
  return request;
}

worker::PrepareRequest WorkerSet::prepare_request(const Contestant& contestant) {
  worker::PrepareRequest request = plain_request(contestant);
  if (!client(contestant).hello().generator) request.inputs = check_.inputs_file();
  return request;
}

double WorkerSet::prepare_deadline_s(const Contestant& contestant) const {
  return deadline_s(estimate_launch_s(contestant.described, shared_.input.device));
}

Answer<worker::PreparedReply> WorkerSet::prepared(const Contestant& contestant) {
  const auto index = static_cast<std::size_t>(&contestant - contestants_.data());
  if (auto answer = ahead_.take(shared_.turn.lane(), index)) return std::move(*answer);
  return client(contestant)
      .ask(prepare_request(contestant), doing("preparing", contestant),
           prepare_deadline_s(contestant));
}

void WorkerSet::prepare(Contestant& contestant) {
  const TimePoint start = Clock::now();
  auto answer = prepared(contestant);
  shared_.breakdown.prepare_s += seconds_since(start);
  if (answer.interrupted) throw Interrupted{};
  if (!answer) return fail_request(contestant, answer.outcome, answer.reason, {process_, 0, 0});
  if (Contestant* owner = owner_of(answer.reply->handle, contestant)) {
    owner->handle.reset();  // nobody knows what it stands for now: it is prepared again
    return fail(contestant, Outcome::bad_reply,
                fmt::format("handle {} is that of {}", answer.reply->handle,
                            to_string(owner->candidate.id)),
                {process_, 0, 0});
  }
  contestant.prepared = *answer.reply;
  contestant.handle = answer.reply->handle;
  if (!contestant.sample_s)
    contestant.sample_s = 1e-9 * static_cast<double>(answer.reply->first_call_ns);
}

void WorkerSet::verify(Contestant& contestant, std::optional<RunningCheck>& running) {
  std::optional<Account> account(std::in_place, shared_.breakdown.verify_s);
  contestant.checked = true;
  const bool can_check = client(contestant).hello().verifies && check_.known();
  if (contestant.control || !can_check) return;
  const Variant* const row = row_of(contestant.candidate);
  const bool to_compare = row && selects_reduced(*row) &&
                          !shared_.verified.compared(contestant.candidate, contest_.problem);
  const auto* known = shared_.verified.find(contestant.candidate, contest_.problem);
  if (known && !to_compare) {
    contestant.verification = Verification::verified;
    contestant.worst_row_error = known->worst_row_error;
    return;
  }
  worker::VerifyRequest request;
  request.handle = *contestant.handle;
  request.rows = check_.rows();
  const std::string outputs = check_.fresh_outputs_file();
  request.outputs = outputs;
  const double first_call_s = 1e-9 * static_cast<double>(contestant.prepared.first_call_ns);
  std::future<void> right_answers;  // while the worker looks for its own
  if (!running)
    right_answers = std::async(std::launch::async,
                               [this, row = row_of(contestant.candidate)] { check_.prepare(row); });
  auto answer =
      client(contestant)
          .ask(std::move(request), doing("verifying", contestant), deadline_s(2 * first_call_s));
  if (right_answers.valid()) right_answers.get();
  if (answer.interrupted) throw Interrupted{};
  account.reset();
  if (running) take_result(*running);
  running.reset();
  if (!answer) return fail_request(contestant, answer.outcome, answer.reason, {process_, 0, 0});
  running.emplace(contestant,
                  std::async(std::launch::async, [this, outputs, said = *answer.reply, row] {
                    return check_.check(outputs, row, said);
                  }));
}

void WorkerSet::take_result(RunningCheck& running) {
  const Account account(shared_.breakdown.recheck_s);
  const CheckResult result = running.result.get();
  Contestant& contestant = running.contestant;
  contestant.verification = result.verification;
  contestant.worst_row_error = result.worst_row_error;
  if (result.verification == Verification::verified)
    shared_.verified.add(contestant.candidate, contest_.problem, result.worst_row_error);
  if (result.agreement) {
    shared_.verified.add_compared(contestant.candidate, contest_.problem);
    shared_.writer.commit(contest_.problem, contestant.candidate, *result.agreement);
  }
  if (result.verification == Verification::wrong_result && !contestant.out)
    reject(contestant, result);
}

void WorkerSet::fail_repeats(std::size_t worker) {
  WorkerClient* const client = shared_.turn.find(worker);
  if (!client) return;
  for (const auto& [variant, doing] : client->take_repeated()) {
    for (Contestant& contestant : contestants_) {
      const bool its = static_cast<std::size_t>(contestant.candidate.worker) == worker &&
                       contestant.candidate.id == variant && !contestant.out && !contestant.control;
      if (its) fail(contestant, Outcome::bad_reply, "answered twice: " + doing, {process_, 0, 0});
    }
  }
}

Contestant* WorkerSet::owner_of(std::int64_t handle, const Contestant& asking) {
  const auto owner =
      std::find_if(contestants_.begin(), contestants_.end(), [&](const Contestant& other) {
        return other.handle == handle && other.candidate.worker == asking.candidate.worker &&
               !same_variant(other, asking);
      });
  return owner == contestants_.end() ? nullptr : &*owner;
}

/// By our own cost of the mathematics, where we know it: a worker may describe none.
Believable WorkerSet::believable(const Contestant& contestant, double wall_s) {
  Cost cost = known_cost(contest_.problem, contestant.candidate.id);
  if (cost == Cost{}) cost = cost_of(contestant.described);
  const Backend backend = device_of(shared_.input, contestant.candidate).backend;
  const bool simulated = client(contestant).hello().simulated;
  return {1e9 * least_plausible_s(cost, backend), simulated ? std::nullopt : std::optional(wall_s)};
}

void WorkerSet::reject(Contestant& contestant, const CheckResult& result) {
  shared_.verified.add_wrong(contestant.candidate, contest_.problem, result.reason);
  fail(contestant, Outcome::ok, result.reason, {process_, 0, 0});
}

void WorkerSet::fail_request(Contestant& contestant, Outcome outcome, std::string reason,
                             const Visit& visit) {
  const bool hung = outcome == Outcome::timeout && !client(contestant).alive();
  if (hung && shared_.input.device.backend == Backend::cuda) reason += "; " + retry(contestant);
  fail(contestant, outcome, reason, visit);
}

/// Once for a variant and problem: whatever it says, the variant is out of the contest then.
std::string WorkerSet::retry(const Contestant& contestant) {
  const Account account(shared_.breakdown.trace_s);
  shared_.reporter.note(
      fmt::format("{} hung: asking it again under the tracer", to_string(contestant.candidate.id)));
  const Retry again{prepare_request(contestant), measure_request(contestant),
                    prepare_deadline_s(contestant), measure_deadline_s(contestant)};
  const auto worker = static_cast<std::size_t>(contestant.candidate.worker);
  return retry_traced(shared_.input, shared_.input.workers.at(worker), again, folder_ + "/hang",
                      shared_.interrupt);
}

void WorkerSet::fail(Contestant& contestant, Outcome outcome, const std::string& why,
                     const Visit& visit) {
  const std::string reason = one_line(why);  // it may quote what a worker wrote
  Measurement row =
      shared_.writer.blank(contest_.problem, contestant.candidate, cost_of(contestant.described));
  row.held_out = contest_.held_out;
  row.launch = contest_.launch;
  row.process = visit.process;
  row.round = visit.round;
  row.position = visit.position;
  row.verification = contestant.verification;
  row.worst_row_error = contestant.worst_row_error;
  shared_.writer.commit_failure(std::move(row), contestant.candidate, outcome, reason);
  shared_.reporter.note(fmt::format(
      "{}: {}: {}", to_string(contestant.candidate.id),
      outcome == Outcome::ok ? to_string(contestant.verification) : to_string(outcome), reason));
  shared_.reporter.event({"failed", &contest_, to_string(contestant.candidate.id), reason});
  const std::size_t worker = static_cast<std::size_t>(contestant.candidate.worker);
  if (!shared_.turn.alive(worker)) drop_handles(worker);
  for (Contestant& other : contestants_) {  // the control goes with its original, and the reverse
    if (same_variant(other, contestant)) {
      other.out = true;
      if (other.handle) shared_.turn.retire(worker, *other.handle);
      other.handle.reset();
    }
  }
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
  Measurement row =
      shared_.writer.blank(contest_.problem, contestant.candidate, cost_of(contestant.described));
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
    return fail(contestant, Outcome::bad_reply, *lie, visit);
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
    const auto control = other.visits.find(block);
    if (control == other.visits.end()) continue;
    std::string noise = shared_.controls.noise(median_ns, control->second);
    if (noise.empty()) shared_.controls.add(median_ns, control->second);
    return noise;
  }
  return "";
}

}  // namespace nsa::tuner
