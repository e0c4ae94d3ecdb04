// What other lanes prepare of a contest while the first one gets ready, so that nobody waits for it
// when it is their turn to measure.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pool/workers/turn.hpp"

namespace nsa::tuner {

class PreparedAhead {
 public:
  /// A request to prepare one contestant, and how long it may take.
  struct Job {
    std::size_t contestant = 0;
    worker::PrepareRequest request;
    std::string doing;
    double deadline_s = 0;
  };
  /// Has the lanes after the one that is used now work on the jobs, one after another.
  void begin(Turn& turn, std::vector<Job> jobs);
  /// What that lane answered for a contestant, once; nothing where it has to be asked (again).
  /// After Turn::join_ahead().
  std::optional<Answer<worker::PreparedReply>> take(std::size_t lane, std::size_t contestant);
  /// The handles that nobody took are not needed any more.
  void retire(Turn& turn);

 private:
  using Answers = std::map<std::size_t, Answer<worker::PreparedReply>>;  // by contestant
  std::map<std::size_t, std::shared_ptr<Answers>> of_lane_;
};

/// Whether the device can hold what all lanes prepare of this contest, and as much again.
bool fits_in_lanes(const Contest& contest, std::size_t lanes, const Device& device);

}  // namespace nsa::tuner
