#include "pool/workers/worker_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "nsa/kernels/catalog.hpp"
#include "nsa/tuner/wrong_elsewhere.hpp"
#include "pool/account.hpp"
#include "pool/workers/traced_retry.hpp"

namespace nsa::tuner {

WorkerSet::WorkerSet(Shared& shared, const Contest& contest, std::shared_ptr<OutputCheck> check,
                     std::vector<Contestant>& contestants, std::string folder)
    : shared_(shared),
      contest_(contest),
      policy_(with_launch(shared.input.spec.policy, contest.launch)),
      check_(std::move(check)),
      contestants_(contestants),
      folder_(std::move(folder)) {}

void WorkerSet::begin_process(std::int64_t process) {
  process_ = process;
  cleared_ = false;
  const auto number = static_cast<std::size_t>(process - contest_.first_process);
  shared_.turn.use(first_lane_ + number % shared_.turn.lanes());
  for (Contestant& contestant : contestants_) {
    contestant.handle.reset();
    contestant.checked = false;
  }
  released_ = false;
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

const Contestant& WorkerSet::original_of(const Contestant& contestant) const {
  return *std::find_if(contestants_.begin(), contestants_.end(), [&](const Contestant& other) {
    return !other.control && same_variant(other, contestant);
  });
}

std::string WorkerSet::doing(const char* verb, const Contestant& contestant) const {
  return fmt::format("{} {}", verb, to_string(contestant.candidate.id));
}

double WorkerSet::deadline_s(double estimate_s) const {
  return request_deadline_s(policy_.deadline_s, estimate_s);
}

const Variant* WorkerSet::row_of(const Candidate& candidate) const {
  return tuner::row_of(candidate, shared_.input.device.backend);
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
  Measurement row = shared_.writer.blank(contest_.problem, contestant.candidate, contestant.cost());
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

}  // namespace nsa::tuner
