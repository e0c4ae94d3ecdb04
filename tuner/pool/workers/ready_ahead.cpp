#include "pool/workers/ready_ahead.hpp"

#include <algorithm>
#include <future>
#include <utility>

namespace nsa::tuner {
namespace {

using Found = std::map<std::size_t, Answer<worker::PreparedReply>>;

/// A process that dies takes its handles along: what it had answered is asked again in its turn,
/// and so is what found no memory beside the other lanes.
void prepare_all(WorkerClient& client, const std::vector<ReadyAhead::Job>& jobs, Found& found) {
  for (const ReadyAhead::Job& job : jobs) {
    auto answer =
        client.ask(job.request, "preparing " + to_string(job.request.variant), job.deadline_s);
    if (!client.alive()) found.clear();
    if (answer.interrupted) return;
    if (answer.outcome != Outcome::out_of_memory) found.emplace(job.contestant, std::move(answer));
    if (!client.alive()) return;
  }
}

}  // namespace

double request_deadline_s(double least_s, double estimate_s) {
  // A users' slow path is 1000 times slower than the best, but not than its own first call. A
  // worker may describe any cost.
  constexpr double kFactor = 50, kMostS = 24 * 3600;
  return std::max(least_s, std::min(kMostS, kFactor * estimate_s));
}

void ReadyAhead::begin(Turn& turn, std::size_t first, std::size_t end,
                       const std::vector<Job>& jobs) {
  for (std::size_t lane = first; lane < end; ++lane) {
    const auto answers = of_lane_[lane] = std::make_shared<Answers>();
    turn.ahead(lane, [&turn, lane, jobs, answers](WorkerClient& client) {
      answers->process = turn.process_in(lane);
      prepare_all(client, jobs, answers->found);
      answers->prepared_at = Clock::now();
    });
  }
}

/// What is not answered has no result: it is asked again in its turn, which tells why.
void ReadyAhead::verify_all(WorkerClient& client, const std::vector<Job>& jobs, OutputCheck& check,
                            Answers& answers, Results& results) {
  for (const Job& job : jobs) {
    const auto prepared = answers.found.find(job.contestant);
    if (prepared == answers.found.end() || !prepared->second) continue;
    const worker::VerifyRequest request = check.request(prepared->second.reply->handle);
    const double first_call_s = 1e-9 * static_cast<double>(prepared->second.reply->first_call_ns);
    const auto said = client.ask(request, "verifying " + to_string(job.request.variant),
                                 request_deadline_s(job.deadline_s, 2 * first_call_s));
    if (!client.alive()) return answers.found.clear();
    if (said.interrupted) return;
    if (said) results.emplace(job.contestant, check.check(request.outputs, job.row, *said.reply));
  }
}

void ReadyAhead::verify(Turn& turn, std::size_t lane, std::vector<Job> jobs,
                        std::shared_ptr<OutputCheck> check) {
  std::erase_if(jobs, [](const Job& job) { return !job.verify; });
  if (jobs.empty() || !check->known()) return;
  // Ours are made while the worker prepares: a lane works off what it is given in its order.
  const std::shared_future<void> right_answers =
      std::async(std::launch::async, [check, row = jobs.front().row] { check->prepare(row); });
  turn.ahead(lane, [jobs = std::move(jobs), check, right_answers, answers = of_lane_.at(lane),
                    results = results_](WorkerClient& client) {
    right_answers.get();
    if (client.hello().verifies) verify_all(client, jobs, *check, *answers, *results);
  });
}

std::optional<TimePoint> ReadyAhead::prepared_at() const {
  std::optional<TimePoint> last;
  for (const auto& [lane, answers] : of_lane_) last = std::max(last, answers->prepared_at);
  return last;
}

bool ReadyAhead::has(const Turn& turn, std::size_t contestant) const {
  const auto answers = of_lane_.find(turn.lane());
  if (answers == of_lane_.end()) return false;
  const auto found = answers->second->found.find(contestant);
  if (found == answers->second->found.end()) return false;
  return !found->second || turn.process_in(turn.lane()) == answers->second->process;
}

std::optional<Answer<worker::PreparedReply>> ReadyAhead::take(const Turn& turn,
                                                              std::size_t contestant) {
  if (!has(turn, contestant)) return std::nullopt;
  return std::move(of_lane_.at(turn.lane())->found.extract(contestant).mapped());
}

std::optional<CheckResult> ReadyAhead::take_result(std::size_t contestant) {
  auto node = results_->extract(contestant);
  if (node.empty()) return std::nullopt;
  return std::move(node.mapped());
}

void ReadyAhead::retire(Turn& turn) {
  turn.join_ahead();
  for (const auto& [lane, answers] : of_lane_) {
    if (turn.process_in(lane) != answers->process) continue;
    for (const auto& [contestant, answer] : answers->found)
      if (answer) turn.retire(lane, 0, answer.reply->handle);
  }
  of_lane_.clear();
}

bool fit_in_lanes(std::span<const Contest* const> contests, std::size_t lanes,
                  const Device& device) {
  if (!device.memory_bytes) return false;
  double bytes = 0;  // inputs are shared, so that this is more than enough
  for (const Contest* contest : contests)
    for (const Description& described : contest->described)
      bytes += described.bytes + static_cast<double>(described.workspace_bytes);
  return 2 * bytes * static_cast<double>(lanes) <= static_cast<double>(*device.memory_bytes);
}

}  // namespace nsa::tuner
