#include "pool/workers/prepared_ahead.hpp"

#include <utility>

namespace nsa::tuner {
namespace {

using Found = std::map<std::size_t, Answer<worker::PreparedReply>>;

/// A process that dies takes its handles along: what it had answered is asked again in its turn,
/// and so is what found no memory beside the other lanes.
void prepare_all(WorkerClient& client, std::vector<PreparedAhead::Job> jobs, Found& found) {
  for (PreparedAhead::Job& job : jobs) {
    auto answer = client.ask(std::move(job.request), job.doing, job.deadline_s);
    if (!client.alive()) found.clear();
    if (answer.interrupted) return;
    if (answer.outcome != Outcome::out_of_memory) found.emplace(job.contestant, std::move(answer));
    if (!client.alive()) return;
  }
}

}  // namespace

void PreparedAhead::begin(Turn& turn, std::size_t first, std::size_t end,
                          const std::vector<Job>& jobs) {
  for (std::size_t lane = first; lane < end; ++lane) {
    // Shared with the thread, which may outlive this contest where a sweep is ended.
    const auto answers = of_lane_[lane] = std::make_shared<Answers>();
    turn.ahead(lane, [&turn, lane, jobs, answers](WorkerClient& client) {
      answers->process = turn.process_in(lane);
      prepare_all(client, jobs, answers->found);
    });
  }
}

std::optional<Answer<worker::PreparedReply>> PreparedAhead::take(const Turn& turn,
                                                                 std::size_t contestant) {
  const auto answers = of_lane_.find(turn.lane());
  if (answers == of_lane_.end()) return std::nullopt;
  auto node = answers->second->found.extract(contestant);
  if (node.empty()) return std::nullopt;
  if (node.mapped() && turn.process_in(turn.lane()) != answers->second->process)
    return std::nullopt;
  return std::move(node.mapped());
}

void PreparedAhead::retire(Turn& turn) {
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
