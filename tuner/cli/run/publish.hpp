// What every kind of run does before its steps and after them: the report's head, the database,
// the verdict.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "device.hpp"
#include "nsa/kernels/heartbeat.hpp"
#include "nsa/store/store.hpp"
#include "program.hpp"
#include "record.hpp"
#include "report.hpp"

namespace nsa::cli {

/// Opened before the steps, so that a database that cannot be used costs no time.
std::optional<store::Store> open_database(const Settings& settings, const RunOptions& options);
/// What is known of a run before its first step.
RunReport report_of(const RunRecord& record, const RunDevice& device, const RunPlan& plan,
                    const RunOptions& options);
/// Heartbeats of a run. Where the disk takes no more, a line says so and the run goes on without
/// them: its result is worth more.
class HeartbeatFile {
 public:
  /// Opened before the steps as well. InputError: a database, a folder that is not there, what is
  /// no regular file; EnvironmentError: the machine does not let us.
  HeartbeatFile(const Settings& settings, const std::string& path);
  void append(const Heartbeat& heartbeat);
  /// EnvironmentError where heartbeats are missing.
  void require_all() const;

 private:
  const Settings& settings_;
  HeartbeatWriter writer_;
  std::string failure_;  // of the last heartbeat that was tried
};
/// What --strict and --trace ask for.
ExitCode verdict(const Settings& settings, const RunReport& report);
/// Does one thing after the other, whatever becomes of each: what was measured is not lost in one
/// place because another has no room for it.
class AllTried {
 public:
  template <class Thing>
  void operator()(const Thing& thing) {
    try {
      thing();
    } catch (...) {
      if (!failed_) failed_ = std::current_exception();
    }
  }
  /// Throws what failed first.
  void rethrow() const {
    if (failed_) std::rethrow_exception(failed_);
  }

 private:
  std::exception_ptr failed_;
};

/// Prints the result and keeps it, the one also where the other fails.
void publish(const Settings& settings, const RunReport& report, RunRecord record,
             std::optional<store::Store>& db);

}  // namespace nsa::cli
