// What the lanes of a contest do before its turn to measure, so that nobody waits for it then: all
// of them prepare it, and one has its outputs checked.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "pool/checks/output_check.hpp"
#include "pool/workers/turn.hpp"

namespace nsa::tuner {

/// How long a request may take, by an estimate of what it has to do.
double request_deadline_s(double least_s, double estimate_s);

/// What contests share that get ready at once: each variant is verified in one of them, and the
/// contests of a crew take turns in which of its lanes does it.
struct ReadyGroup {
  std::set<std::string> verifying = {};                 // keys of Verified
  std::map<std::size_t, std::size_t> contests_of = {};  // by the first lane of a crew
};

class ReadyAhead {
 public:
  /// A contestant to prepare, and how long that may take.
  struct Job {
    std::size_t contestant = 0;
    worker::PrepareRequest request;
    double deadline_s = 0;
    bool verify = false;
    const Variant* row = nullptr;  // of the table, for OutputCheck
  };
  /// Has the lanes from `first` to before `end` work on the jobs, one after another.
  void begin(Turn& turn, std::size_t first, std::size_t end, const std::vector<Job>& jobs);
  /// Has one lane, after that, verify those that are to be. Nobody else may use `check` before
  /// Turn::join_ahead().
  void verify(Turn& turn, std::size_t lane, std::vector<Job> jobs,
              std::shared_ptr<OutputCheck> check);
  /// When the last lane had prepared; after Turn::join_ahead().
  std::optional<TimePoint> prepared_at() const;
  /// Whether take() has an answer. After Turn::join_ahead().
  bool has(const Turn& turn, std::size_t contestant) const;
  /// What the lane that is used now answered for a contestant, once; nothing where it has to be
  /// asked (again), as where its process is another one by now. After Turn::join_ahead().
  std::optional<Answer<worker::PreparedReply>> take(const Turn& turn, std::size_t contestant);
  /// What its outputs were worth, once; nothing where that is not known.
  std::optional<CheckResult> take_result(std::size_t contestant);
  /// The handles that nobody took are not needed any more.
  void retire(Turn& turn);

 private:
  struct Answers {
    std::size_t process = 0;                                     // Turn::process_in()
    std::map<std::size_t, Answer<worker::PreparedReply>> found;  // by contestant
    std::optional<TimePoint> prepared_at;
  };
  using Results = std::map<std::size_t, CheckResult>;  // by contestant
  static void verify_all(WorkerClient& client, const std::vector<Job>& jobs, OutputCheck& check,
                         Answers& answers, Results& results);

  // Shared with the threads, which may outlive this contest where a sweep is ended.
  std::map<std::size_t, std::shared_ptr<Answers>> of_lane_;
  std::shared_ptr<Results> results_ = std::make_shared<Results>();
};

/// Whether the device can hold what so many lanes prepare of each of these contests, and as much
/// again.
bool fit_in_lanes(std::span<const Contest* const> contests, std::size_t lanes,
                  const Device& device);

}  // namespace nsa::tuner
