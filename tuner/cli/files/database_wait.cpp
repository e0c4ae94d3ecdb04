#include "files/database_wait.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "nsa/tuner/lock_holder.hpp"

namespace nsa::cli {
namespace {

constexpr double kTellAfterS = 1;  // a writer that takes turns with others waits for less

/// SQLite locks bytes of the database or of its index of the WAL, we those of a file of our own.
/// None of them is opened: closing it would release this process's own locks.
std::optional<tuner::LockHolder> holder_of(const std::string& path) {
  for (const char* suffix : {"-shm", "", "-lock"}) {
    struct stat status {};
    if (stat((path + suffix).c_str(), &status) != 0) continue;
    if (auto holder = tuner::find_lock_holder(status.st_ino, tuner::LockKind::posix)) return holder;
  }
  return std::nullopt;
}

}  // namespace

store::OpenOptions wait_aloud(const Settings& settings, const std::string& path, double longest_s) {
  auto wait = std::make_shared<DatabaseWait>(
      path, [&settings](const std::string& text) { say(settings, text); }, nullptr, nullptr,
      longest_s);
  store::OpenOptions options = wait->options();
  options.keep_waiting = [wait](double waited_s) { return wait->keep_waiting(waited_s); };
  return options;
}

store::OpenOptions wait_aloud(const Settings& settings) {
  return wait_aloud(settings, settings.db_path());
}

store::Store existing_database(const Settings& settings) {
  return store::Store::open_existing(settings.db_path(), wait_aloud(settings));
}

store::Store existing_database_to_change(const Settings& settings) {
  existing_database(settings);  // a wrong --db must not make one
  return store::Store::open(settings.db_path(), wait_aloud(settings));
}

DatabaseWait::DatabaseWait(std::string path, std::function<void(const std::string&)> tell,
                           const std::atomic<bool>* stop, std::atomic<double>* waited_s,
                           double longest_s)
    : path_(std::move(path)),
      tell_(std::move(tell)),
      stop_(stop),
      total_s_(waited_s),
      longest_s_(longest_s) {}

store::OpenOptions DatabaseWait::options() {
  store::OpenOptions options;
  options.busy_timeout_s = longest_s_;
  options.keep_waiting = [this](double waited_s) { return keep_waiting(waited_s); };
  return options;
}

bool DatabaseWait::keep_waiting(double waited_s) {
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::duration<double> since = now - asked_;
  asked_ = now;
  // What lies between two waits is none.
  if (total_s_) total_s_->fetch_add(std::min(waited_s, since.count()));
  if (waited_s < kTellAfterS) told_ = false;
  if (waited_s >= kTellAfterS && !told_) {
    told_ = true;
    tell_(fmt::format("waiting: {} holds {}; for at most {:g} s", tuner::describe(holder_of(path_)),
                      path_, longest_s_));
  }
  return !stop_ || !*stop_;
}

}  // namespace nsa::cli
