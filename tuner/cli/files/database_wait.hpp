// How a command waits for a database that another process holds: it says for whom, and how long it
// has waited is known.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>

#include "nsa/store/store.hpp"

namespace nsa::cli {

/// Outlives the stores that are opened with its options.
class DatabaseWait {
 public:
  /// `tell` gets a line once in each wait of a second or more; `stop` (may be null) ends a wait.
  DatabaseWait(std::string path, std::function<void(const std::string&)> tell,
               const std::atomic<bool>* stop = nullptr);
  DatabaseWait(const DatabaseWait&) = delete;
  DatabaseWait& operator=(const DatabaseWait&) = delete;
  store::OpenOptions options();
  /// Seconds of all waits so far.
  const std::atomic<double>& waited_s() const noexcept { return total_s_; }

 private:
  bool keep_waiting(double waited_s);

  std::string path_;
  std::function<void(const std::string&)> tell_;
  const std::atomic<bool>* stop_;
  std::atomic<double> total_s_ = 0;
  std::chrono::steady_clock::time_point asked_{};
  bool told_ = false;
};

}  // namespace nsa::cli
