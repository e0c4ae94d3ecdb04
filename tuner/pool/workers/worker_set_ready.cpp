// Before the visits of a process: every contestant is prepared, then verified.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "plan/estimate.hpp"
#include "pool/account.hpp"
#include "pool/checks/agreement.hpp"
#include "pool/workers/worker_set.hpp"

namespace nsa::tuner {

bool WorkerSet::wants_handle(const Contestant& contestant) const {
  return !contestant.out && !contestant.handle && !given_up(contestant, contestants_, policy_);
}

void WorkerSet::ready() {
  begin_ahead(shared_.turn.lane() + 1,
              [](const Contestant& contestant) { return !contestant.slow; });
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

void WorkerSet::get_ready_ahead(const std::function<bool(const Contestant&)>& wanted,
                                ReadyGroup& group) {
  std::vector<ReadyAhead::Job> jobs = begin_ahead(first_lane_, wanted);
  if (jobs.empty()) return;
  for (ReadyAhead::Job& job : jobs) {
    const Contestant& contestant = contestants_[job.contestant];
    job.row = row_of(contestant.candidate);
    job.verify =
        wants_check(contestant) &&
        group.verifying.insert(Verified::key(contestant.candidate, contest_.problem)).second;
  }
  const std::size_t lane = first_lane_ + group.contests_of[first_lane_]++ % shared_.turn.lanes();
  ahead_.verify(shared_.turn, lane, std::move(jobs), check_);
}

std::vector<ReadyAhead::Job> WorkerSet::begin_ahead(
    std::size_t first, const std::function<bool(const Contestant&)>& wanted) {
  if (std::exchange(ahead_begun_, true)) return {};
  const std::size_t lanes = shared_.turn.lanes();
  const Contest* const own[] = {&contest_};
  if (lanes == 1 || !fit_in_lanes(own, lanes, shared_.input.device)) return {};
  std::vector<ReadyAhead::Job> jobs;
  for (std::size_t i = 0; i < contestants_.size(); ++i) {
    const Contestant& contestant = contestants_[i];
    if (wants_handle(contestant) && wanted(contestant))
      jobs.push_back({i, plain_request(contestant), prepare_deadline_s(contestant)});
  }
  ahead_.begin(shared_.turn, first, first_lane_ + lanes, jobs);
  return jobs;
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
      // What was prepared ahead had its room, and whoever works ahead next frees what is left.
      if (!ahead_.has(shared_.turn, index_of(contestant)) && !std::exchange(released_, true))
        shared_.turn.release_retired();
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
  if (!client(contestant).hello().generator) request.inputs = check_->inputs_file();
  return request;
}

double WorkerSet::prepare_deadline_s(const Contestant& contestant) const {
  return deadline_s(estimate_launch_s(contestant.described, shared_.input.device));
}

Answer<worker::PreparedReply> WorkerSet::prepared(const Contestant& contestant) {
  if (auto answer = ahead_.take(shared_.turn, index_of(contestant))) return std::move(*answer);
  return client(contestant)
      .ask(prepare_request(contestant), doing("preparing", contestant),
           prepare_deadline_s(contestant));
}

void WorkerSet::prepare(Contestant& contestant) {
  const TimePoint start = Clock::now();
  auto answer = prepared(contestant);
  shared_.breakdown.prepare_s += seconds_since(start);
  if (answer.interrupted) throw Interrupted{};
  if (answer.outcome == Outcome::out_of_memory && make_room()) return;  // it is asked again
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

bool WorkerSet::make_room() {
  if (shared_.turn.crews() == 1 || std::exchange(cleared_, true)) return false;
  for (std::size_t w = 0; w < shared_.input.workers.size(); ++w) {
    fail_repeats(w);
    drop_handles(w);
  }
  shared_.turn.clear();
  return true;
}

bool WorkerSet::wants_check(const Contestant& contestant) const {
  const Variant* const row = row_of(contestant.candidate);
  const bool to_compare = row && selects_reduced(*row) &&
                          !shared_.verified.compared(contestant.candidate, contest_.problem);
  return to_compare || !shared_.verified.find(contestant.candidate, contest_.problem);
}

void WorkerSet::verify(Contestant& contestant, std::optional<RunningCheck>& running) {
  contestant.checked = true;
  const bool can_check = client(contestant).hello().verifies && check_->known();
  if (contestant.control || !can_check) return;
  if (const auto result = ahead_.take_result(index_of(contestant)))
    return take_result(contestant, *result);
  if (!wants_check(contestant)) {
    const auto* known = shared_.verified.find(contestant.candidate, contest_.problem);
    contestant.verification = Verification::verified;
    contestant.worst_row_error = known->worst_row_error;
    return;
  }
  const Variant* const row = row_of(contestant.candidate);
  const worker::VerifyRequest request = check_->request(contestant.handle.value());
  const auto answer = verified(contestant, request, !running);
  if (answer.interrupted) throw Interrupted{};
  if (running) take_result(*running);
  running.reset();
  if (!answer) return fail_request(contestant, answer.outcome, answer.reason, {process_, 0, 0});
  running.emplace(contestant, std::async(std::launch::async,
                                         [this, outputs = request.outputs, said = *answer.reply,
                                          row] { return check_->check(outputs, row, said); }));
}

Answer<worker::VerifiedReply> WorkerSet::verified(const Contestant& contestant,
                                                  const worker::VerifyRequest& request,
                                                  bool prepare) {
  const Account account(shared_.breakdown.verify_s);
  const double first_call_s = 1e-9 * static_cast<double>(contestant.prepared.first_call_ns);
  std::future<void> right_answers;
  if (prepare)
    right_answers = std::async(
        std::launch::async, [this, row = row_of(contestant.candidate)] { check_->prepare(row); });
  auto answer =
      client(contestant).ask(request, doing("verifying", contestant), deadline_s(2 * first_call_s));
  if (right_answers.valid()) right_answers.get();
  return answer;
}

void WorkerSet::take_result(RunningCheck& running) {
  const Account account(shared_.breakdown.recheck_s);
  take_result(running.contestant, running.result.get());
}

void WorkerSet::take_result(Contestant& contestant, const CheckResult& result) {
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

Contestant* WorkerSet::owner_of(std::int64_t handle, const Contestant& asking) {
  const auto owner =
      std::find_if(contestants_.begin(), contestants_.end(), [&](const Contestant& other) {
        return other.handle == handle && other.candidate.worker == asking.candidate.worker &&
               !same_variant(other, asking);
      });
  return owner == contestants_.end() ? nullptr : &*owner;
}

}  // namespace nsa::tuner
