// What other lanes prepare of a contest while the first one gets ready, or all of them while
// earlier contests do, so that nobody waits for it when it is their turn to measure.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
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
  /// Has the lanes from `first` to before `end` work on the jobs, one after another.
  void begin(Turn& turn, std::size_t first, std::size_t end, const std::vector<Job>& jobs);
  /// What the lane that is used now answered for a contestant, once; nothing where it has to be
  /// asked (again), as where its process is another one by now. After Turn::join_ahead().
  std::optional<Answer<worker::PreparedReply>> take(const Turn& turn, std::size_t contestant);
  /// The handles that nobody took are not needed any more.
  void retire(Turn& turn);

 private:
  struct Answers {
    std::size_t process = 0;                                     // Turn::process_in()
    std::map<std::size_t, Answer<worker::PreparedReply>> found;  // by contestant
  };
  std::map<std::size_t, std::shared_ptr<Answers>> of_lane_;
};

/// Whether the device can hold what so many lanes prepare of each of these contests, and as much
/// again.
bool fit_in_lanes(std::span<const Contest* const> contests, std::size_t lanes,
                  const Device& device);

}  // namespace nsa::tuner
