#include "pool/workers/turn.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/executor.hpp"
#include "pool/account.hpp"

namespace nsa::tuner {
namespace {

constexpr double kReleaseS = 5;  // more than freeing memory takes; who does not know it may hang

}  // namespace

Turn::Turn(const SweepInput& input, Interrupt& interrupt, Reporter& reporter,
           TimeBreakdown& breakdown, std::function<void()> while_it_works)
    : input_(input),
      interrupt_(interrupt),
      reporter_(reporter),
      breakdown_(breakdown),
      while_it_works_(std::move(while_it_works)) {
  set_lanes(1);
  if (!input.share) lock_.emplace(input.lock_dir, input.device.uuid);
}

void Turn::set_lanes(std::size_t lanes, std::size_t crews) {
  expects(lanes > 0 && crews > 0 && !begun_, "one lane or more, before the turn begins");
  const std::size_t workers = input_.workers.size();
  slots_ = std::vector<Slot>(lanes * crews * workers);
  for (std::size_t s = 0; s < slots_.size(); ++s) slots_[s].worker = s % workers;
  lanes_ = lanes;
  crews_ = crews;
  lane_ = 0;
}

std::size_t Turn::place(std::size_t lane, std::size_t worker) const {
  const std::size_t workers = input_.workers.size();
  expects(lane < lanes_ * crews_ && worker < workers, "a lane and a worker of this turn");
  return lane * workers + worker;
}

void Turn::use(std::size_t lane) {
  const Account account(breakdown_.start_s);
  join_ahead();
  lane_ = lane;
  for (std::size_t worker = 0; worker < input_.workers.size(); ++worker) {
    WorkerClient* const client = find(worker);
    if (!client) continue;
    client->while_it_works(while_it_works_);
    join_leaving();  // else start() does: nothing is measured beside a process that ends
  }
}

void Turn::start_ahead() {
  if (lanes_ == 1 || begun_ || (lock_ && !lock_->try_lock())) return;
  begun_ = true;
  // Of the first crew alone: what is planned may be one contest.
  for (std::size_t lane = 0; lane < lanes_; ++lane) ahead(lane, [](WorkerClient&) {});
}

WorkerClient* Turn::lend(std::size_t worker) {
  if (!begun_ || lanes_ == 1) return nullptr;
  Slot& first = slot(0, worker);
  if (first.ahead.valid()) first.ahead.get();
  first.started = {};
  return first.runs() ? first.client.get() : nullptr;
}

void Turn::ahead(std::size_t lane, std::function<void(WorkerClient&)> work) {
  Slot& slot = this->slot(lane, 0);
  if (slot.ahead.valid()) {
    slot.ahead = std::async(std::launch::async, [&slot, before = std::move(slot.ahead),
                                                 work = std::move(work)]() mutable {
      before.get();
      if (slot.runs()) work(*slot.client);
    });
    return;
  }
  const bool runs = slot.runs();
  if (!runs) {
    renew(slot);
    if (!slot.client->launch().empty()) return;
  }
  slot.client->while_it_works(nullptr);  // that is for the thread that measures
  std::promise<void> started;
  slot.started = started.get_future();
  slot.ahead = std::async(std::launch::async, [this, &slot, runs, work = std::move(work),
                                               started = std::move(started)]() mutable {
    const bool greeted =
        runs || slot.client->greet(input_.device.id, input_.spec.policy.deadline_s);
    started.set_value();
    if (greeted && free_retired(slot)) work(*slot.client);
  });
}

void Turn::join_starts() {
  for (Slot& slot : slots_) {
    if (slot.started.valid()) slot.started.get();
  }
}

void Turn::join_ahead() {
  join_starts();
  for (Slot& slot : slots_) {
    if (slot.ahead.valid()) slot.ahead.get();
  }
}

std::size_t Turn::process_in(std::size_t lane) const {
  const Slot& slot = slots_[place(lane, 0)];
  return slot.runs() ? slot.number : 0;
}

/// Its client is that of a process that is yet to start.
void Turn::renew(Slot& slot) {
  const WorkerCommand& command = input_.workers[slot.worker];
  const auto limit = worker_memory_limit(command, input_.device, slots_.size());
  slot.client = std::make_unique<WorkerClient>(command, limit, interrupt_);
  if (input_.device.backend == Backend::cuda) slot.client->stay_awake();
  slot.retired.clear();
  slot.number = ++processes_started_;
}

void Turn::begin() {
  if (begun_) return;
  if (lock_ && !lock_->try_lock()) {
    reporter_.note(waiting_text(*lock_, input_.device.id));
    wait_for_device();
  }
  begun_ = true;
}

/// Who waits for another process spends nothing of the budget: a stop alone ends it.
void Turn::wait_for_device() {
  const TimePoint began = Clock::now();
  const bool ours = lock_->lock(Interrupt(input_.stop, std::nullopt));
  const double waited_s = seconds_since(began);
  breakdown_.wait_s += waited_s;
  interrupt_.leave_out(waited_s);
  if (!ours) throw Interrupted{};
}

void Turn::end() {
  if (!begun_) return;
  begun_ = false;
  const Account account(breakdown_.start_s);
  end_processes();
  if (lock_) lock_->unlock();
}

void Turn::clear() {
  const Account account(breakdown_.start_s);
  end_processes();
  join_leaving();
}

void Turn::end_processes() {
  join_ahead();
  join_leaving();
  std::vector<std::unique_ptr<WorkerClient>> leaving;
  for (Slot& slot : slots_) {
    slot.retired.clear();
    if (!slot.client) continue;
    // Ending a process that has a GPU takes as long as starting one: both at once. A worker of
    // somebody else may hand something on to its next process.
    if (input_.workers[slot.worker].ours)
      leaving.push_back(std::move(slot.client));
    else
      slot.client->finish();
    slot.client.reset();
  }
  leaving_ = std::async(std::launch::async, [clients = std::move(leaving)] {
    for (const auto& client : clients) client->finish();
  });
}

void Turn::join_leaving() {
  if (leaving_.valid()) leaving_.get();
}

bool Turn::alive(std::size_t worker) const { return slots_[place(lane_, worker)].runs(); }

Answer<worker::HelloReply> Turn::start(std::size_t worker) {
  Slot& slot = this->slot(lane_, worker);
  if (alive(worker)) return {slot.client->hello(), Outcome::ok, "", false};
  const Account account(breakdown_.start_s);
  Answer<worker::HelloReply> answer;
  for (int attempt = 0; attempt < 2 && !answer; ++attempt) {
    if (attempt > 0) join_leaving();  // it may hold what only one process can have
    renew(slot);
    answer = slot.client->start(input_.device.id, input_.spec.policy.deadline_s);
    if (answer.interrupted) throw Interrupted{};
  }
  slot.client->while_it_works(while_it_works_);
  join_leaving();  // nothing is measured beside a process that ends
  return answer;
}

std::optional<std::size_t> Turn::processes() const {
  std::size_t count = 0;
  for (const Slot& slot : slots_) {
    if (!slot.runs()) continue;
    if (slot.client->hello().executor != kOwnExecutor) return std::nullopt;
    ++count;
  }
  return count;
}

bool Turn::release(Slot& slot) {
  if (slot.cannot_release) return false;
  const double deadline_s = std::min(kReleaseS, input_.spec.policy.deadline_s);
  for (const std::int64_t handle : slot.retired) {
    worker::ReleaseRequest request;
    request.handle = handle;
    if (!slot.client->ask(request, "releasing a handle", deadline_s)) return false;
  }
  return true;
}

bool Turn::free_retired(Slot& slot) {
  if (slot.retired.empty()) return true;
  const bool freed = release(slot);
  slot.retired.clear();
  if (freed) return true;
  slot.cannot_release = true;
  slot.client->finish();
  return false;
}

void Turn::release_retired() {
  join_ahead();
  for (Slot& slot : slots_) {
    if (slot.retired.empty() || !slot.runs()) continue;
    const Account account(breakdown_.prepare_s);
    if (!free_retired(slot) && interrupt_.requested()) throw Interrupted{};
  }
}

}  // namespace nsa::tuner
