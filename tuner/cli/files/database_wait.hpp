// How a command waits for a database that another process holds: it says for whom, and counts for
// how long.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>

#include "nsa/store/store.hpp"
#include "program.hpp"

namespace nsa::cli {

/// Options of a command that says on stderr for whom it waits, and for `longest_s` at most.
/// `settings` outlives the stores that are opened with them.
store::OpenOptions wait_aloud(const Settings& settings, const std::string& path,
                              double longest_s = store::OpenOptions{}.busy_timeout_s);
/// Of the database of the command.
store::OpenOptions wait_aloud(const Settings& settings);
/// The database of the command, to read: as Store::open_existing, and it waits aloud.
store::Store existing_database(const Settings& settings);
/// The same, to change it. InputError where there is none.
store::Store existing_database_to_change(const Settings& settings);

/// For commands that do something else with their wait. Outlives the stores that are opened with
/// its options.
class DatabaseWait {
 public:
  /// `tell` gets a line once in each wait of a second or more; `stop` ends a wait, and
  /// `waited_s` grows by the seconds of all of them (both may be null).
  DatabaseWait(std::string path, std::function<void(const std::string&)> tell,
               const std::atomic<bool>* stop = nullptr, std::atomic<double>* waited_s = nullptr,
               double longest_s = store::OpenOptions{}.busy_timeout_s);
  DatabaseWait(const DatabaseWait&) = delete;
  DatabaseWait& operator=(const DatabaseWait&) = delete;
  store::OpenOptions options();
  /// As in store::OpenOptions.
  bool keep_waiting(double waited_s);

 private:
  std::string path_;
  std::function<void(const std::string&)> tell_;
  const std::atomic<bool>* stop_;
  std::atomic<double>* total_s_;
  double longest_s_;
  std::chrono::steady_clock::time_point asked_{};
  bool told_ = false;
};

}  // namespace nsa::cli
