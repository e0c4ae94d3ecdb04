// What the store tests share: a folder that goes away, rows to store, and code in a child process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>

#include "nsa/store/store.hpp"

namespace nsa::test {

/// A fresh folder under the temporary one, removed with everything in it.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

store::RunRequest some_request();
/// Row number `i` of a run: a small problem and three samples; another `i`, another job.
Measurement some_measurement(const std::string& run_id, std::int64_t i);

/// A result of `run` with that speed.
store::RunResult some_result(const std::string& run_id, const std::string& recorded_at,
                             double tokens_per_s);

/// Forks; the child runs `body` and exits with its result, or 99 when it throws (to stderr).
pid_t fork_child(const std::function<int()>& body);
/// Exit status of a child; 1000 + the signal when it died of one.
int wait_for(pid_t child);
int run_in_child(const std::function<int()>& body);

/// The text of the Error that `body` throws; "" when it throws nothing, fails on another type.
template <class Error, class Body>
std::string message_of(Body&& body) {
  try {
    std::forward<Body>(body)();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string bytes_of(const std::string& path);
void write_bytes(const std::string& path, const std::string& bytes);
/// Names in a folder, sorted, joined with spaces.
std::string names_in(const std::filesystem::path& folder);

}  // namespace nsa::test
