#include "pool/contest_runner.hpp"

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include "nsa/schemas/json.hpp"
#include "pool/account.hpp"
#include "pool/order.hpp"

namespace nsa::tuner {
namespace {

/// Of our own rows the table says so; of others nothing does.
bool may_be_chosen(const Candidate& candidate, const Device& device) {
  const Variant* const row = row_of(candidate, device.backend);
  return !row || row->role == Role::candidate;
}

}  // namespace

ContestRunner::ContestRunner(Shared& shared, const Contest& contest,
                             const std::vector<const Measurement*>& earlier,
                             const std::string& folder)
    : shared_(shared),
      contest_(contest),
      policy_(with_launch(shared.input.spec.policy, contest.launch)),
      check_(std::make_shared<OutputCheck>(contest.stages, contest.problem, shared.input.spec.seed,
                                           policy_.verify_rows, folder)),
      workers_(shared, contest, check_, contestants_, folder) {
  contestants_.reserve(contest.variants.size() + 1);  // and the control: references stay
  for (std::size_t i = 0; i < contest.variants.size(); ++i) {
    Contestant& contestant = contestants_.emplace_back();
    contestant.candidate = contest.variants[i];
    contestant.described = contest.described.at(i);
    contestant.eligible = may_be_chosen(contestant.candidate, shared.input.device);
    contestant.subject = job_subject(contest.problem, contestant.candidate, policy_,
                                     timer_of(policy_, shared.input.device));
  }
  for (const Measurement* row : earlier) restore(*row);
}

/// What an earlier row of this run says: a failure keeps its variant out, samples count.
void ContestRunner::restore(const Measurement& row) {
  Contestant* found = nullptr;
  const std::size_t variants = contest_.variants.size();
  for (std::size_t i = 0; i < variants; ++i) {
    const Candidate& candidate = contestants_[i].candidate;
    if (candidate.id == row.variant && candidate.executor == row.executor) found = &contestants_[i];
  }
  if (!found) return;
  const std::int64_t process = row.process - contest_.first_process;
  if (row.median_ns && (process < 0 || process >= policy_.processes)) return;
  const bool visited = row.outcome == Outcome::ok || row.outcome == Outcome::noisy;
  if (!visited || !row.median_ns || row.verification == Verification::wrong_result) {
    for (Contestant& contestant : contestants_) {
      if (contestant.candidate.id == row.variant && contestant.candidate.executor == row.executor)
        contestant.out = true;
    }
    return;
  }
  if (row.control) {
    if (contestants_.size() == variants) contestants_.push_back(control_of(*found));
    found = &contestants_.back();
  }
  if (policy_.race && !row.control && row.note.starts_with(kBeaten))
    found->beaten[row.process] = row.note;
  const auto half = row.position >= static_cast<std::int64_t>(slots()) ? 1 : 0;
  const Block block{row.process, row.round, half};
  if (row.outcome == Outcome::noisy)
    found->add_noisy(block, row);
  else
    found->add_visit(block, row);
}

std::optional<std::string> ContestRunner::why_left_out(const Contestant& contestant,
                                                       const Outlook& outlook,
                                                       bool keep_rivals) const {
  if (contestant.out || contestant.control || contestant.visited()) return std::nullopt;
  auto why = outlook.hopeless(contest_, contestant.candidate, policy_.give_up_ratio);
  if (why && keep_rivals && outlook.rivals(contest_, contestant.candidate, policy_.give_up_ratio))
    return std::nullopt;
  return why;
}

void ContestRunner::leave_out(const Outlook& outlook, bool keep_rivals) {
  for (Contestant& contestant : contestants_) {
    contestant.slow = outlook.is_slow(contest_, contestant.candidate);
    if (auto why = why_left_out(contestant, outlook, keep_rivals)) {
      contestant.out = true;
      contestant.left_out = std::move(*why);
    }
  }
}

void ContestRunner::get_ready_ahead(const Outlook& outlook, bool keep_rivals, ReadyGroup& group) {
  for (const Contestant& contestant : contestants_)
    if (contestant.out || contestant.visited() || !contestant.noisy.empty()) return;
  const auto wanted = [&](const Contestant& contestant) {
    return !outlook.is_slow(contest_, contestant.candidate) &&
           !why_left_out(contestant, outlook, keep_rivals) &&
           !shared_.verified.find_wrong(contestant.candidate, contest_.problem);
  };
  workers_.get_ready_ahead(wanted, group);
}

bool ContestRunner::take_back() {
  if (std::ranges::any_of(contestants_, [](const Contestant& c) { return !c.out && !c.control; }))
    return false;
  bool any = false;
  for (Contestant& contestant : contestants_) {
    if (contestant.left_out.empty()) continue;
    contestant.left_out.clear();
    contestant.out = false;
    any = true;
  }
  return any;
}

void ContestRunner::finish() {
  for (Contestant& contestant : contestants_) {
    if (contestant.left_out.empty()) continue;
    const std::string why = std::exchange(contestant.left_out, "");
    Measurement row = shared_.writer.blank(contest_.problem, contestant.candidate, {});
    row.launch = contest_.launch;
    shared_.writer.commit_failure(std::move(row), contestant.candidate, Outcome::unsupported, why);
    shared_.reporter.event({"given_up", &contest_, to_string(contestant.candidate.id), why});
  }
}

std::size_t ContestRunner::slots() const {
  return contest_.variants.size() + (policy_.control ? 1 : 0);
}

bool ContestRunner::wants(std::size_t slot, const Block& block) const {
  if (slot >= contestants_.size()) return true;  // a control that is not chosen yet
  const Contestant& contestant = contestants_[slot];
  return !contestant.out && !contestant.find_visit(block) && !contestant.noisy.contains(block) &&
         !beaten(contestant, std::get<0>(block)) && !given_up(contestant, contestants_, policy_);
}

/// A control is beaten with its variant.
bool ContestRunner::beaten(const Contestant& contestant, std::int64_t process) const {
  return std::ranges::any_of(contestants_, [&](const Contestant& other) {
    return same_variant(other, contestant) && other.beaten.contains(process);
  });
}

/// All of them in the last process; before it half of them, so that an open contest is seen in more
/// than one process.
std::int64_t ContestRunner::most_rounds(std::int64_t process) const {
  const std::int64_t most = contest_.max_rounds.value_or(policy_.max_rounds);
  const bool last = process + 1 >= contest_.first_process + policy_.processes;
  return last ? most : (most + 1) / 2;
}

bool ContestRunner::enough(std::int64_t process, std::int64_t round) {
  const std::int64_t least = contest_.min_rounds.value_or(policy_.min_rounds);
  ended_by_ = "rounds";
  if (round >= std::max(least, most_rounds(process))) return true;
  // Noisy rounds are made up for, but no more of them than a third of all, or than `least`: a
  // machine that is never quiet must come to an end.
  const std::int64_t noisy = noisy_rounds(process, round);
  ended_by_ = "noise";
  if (noisy > 0 && noisy >= std::max(least, round / 3)) return true;
  ended_by_ = "decided";
  if (round - noisy < least) return false;
  const Account account(shared_.breakdown.decide_s);
  const ContestState state = state_of(contestants_, policy_, {process, round, 0});
  return state.log_ratios.size() < 2 ||
         contest_decided(state, policy_.epsilon, shared_.input.spec.seed);
}

std::int64_t ContestRunner::noisy_rounds(std::int64_t process, std::int64_t round) const {
  std::set<std::int64_t> rounds;
  for (const Contestant& contestant : contestants_) {
    for (const auto& [of_process, of_round, half] : contestant.noisy)
      if (of_process == process && of_round < round) rounds.insert(of_round);
  }
  return static_cast<std::int64_t>(rounds.size());
}

void ContestRunner::back_off(double round_s) const {
  constexpr double kMostS = 0.2;
  const Account account(shared_.breakdown.wait_s);
  std::this_thread::sleep_for(seconds(std::min(kMostS, round_s / 3)));
}

void ContestRunner::run_process(std::int64_t index,
                                const std::function<void(const Candidate&)>& after_visit) {
  const std::int64_t process = contest_.first_process + index;
  begun_ = false;
  do {
    run_rounds(process, after_visit);
  } while (take_back());
  if (begun_ && shared_.input.trace) workers_.trace_all();
  if (begun_ && shared_.input.counters) workers_.count_all();
  workers_.retire();
  check_->forget();
}

void ContestRunner::run_rounds(std::int64_t process,
                               const std::function<void(const Candidate&)>& after_visit) {
  for (std::int64_t round = 0; !enough(process, round); ++round) {
    const TimePoint start = Clock::now();
    const std::int64_t noisy = noisy_rounds(process, round + 1);
    run_round(process, round, after_visit);
    if (noisy_rounds(process, round + 1) > noisy) back_off(seconds_since(start));
  }
}

void ContestRunner::run_round(std::int64_t process, std::int64_t round,
                              const std::function<void(const Candidate&)>& after_visit) {
  const auto order = round_order(shared_.input.spec.seed, contest_.id, process, round, slots());
  const std::string pair_id = make_uuid();
  workers_.begin_round();
  for (std::size_t position = 0; position < order.size(); ++position) {
    const std::int64_t half = position >= slots() ? 1 : 0;
    const Block block{process, round, half};
    if (!wants(order[position], block)) continue;
    if (shared_.interrupt.requested()) throw Interrupted{};
    begin(process);
    workers_.ready();
    // Getting ready chooses the control, and a crash there may have put this one out.
    if (order[position] >= contestants_.size() || !wants(order[position], block)) continue;
    Contestant& contestant = contestants_[order[position]];
    workers_.measure(contestant, {process, round, static_cast<std::int64_t>(position), half},
                     pair_id);
    tell_given_up();
    if (contestant.beaten.contains(process))
      shared_.reporter.event({"given_up", &contest_, to_string(contestant.candidate.id),
                              contestant.beaten.at(process)});
    after_visit(contestant.candidate);
  }
}

void ContestRunner::tell_given_up() {
  for (Contestant& contestant : contestants_) {
    if (contestant.told_given_up || contestant.out || contestant.control) continue;
    if (!given_up(contestant, contestants_, policy_)) continue;
    contestant.told_given_up = true;
    shared_.reporter.event({"given_up", &contest_, to_string(contestant.candidate.id),
                            why_given_up(contestant, contestants_)});
  }
}

void ContestRunner::begin(std::int64_t process) {
  if (begun_) return;
  shared_.turn.begin();
  begun_ = true;
  workers_.begin_process(process);
}

}  // namespace nsa::tuner
