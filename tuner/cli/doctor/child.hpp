// A command in a process group of its own, whose output comes as lines.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace nsa::cli {

class DoctorChild {
 public:
  /// InputError when the command cannot be started.
  explicit DoctorChild(const std::vector<std::string>& command);
  /// Ends what is left of the group.
  ~DoctorChild();
  DoctorChild(const DoctorChild&) = delete;
  DoctorChild& operator=(const DoctorChild&) = delete;

  pid_t pid() const noexcept { return pid_; }
  /// Hands over the lines that come within `seconds`; returns sooner when the process ended or a
  /// signal came.
  void pump(double seconds, const std::function<void(const std::string&)>& on_line);
  bool ended() const noexcept { return ended_; }
  /// As a shell gives it: 128 + the signal that ended it.
  int exit_code() const noexcept { return exit_code_; }
  void signal_group(int signal) const;

 private:
  void read_some(const std::function<void(const std::string&)>& on_line);
  void look_for_end();

  pid_t pid_ = -1;
  int output_ = -1;
  bool ended_ = false;
  int exit_code_ = 0;
  std::string line_;
};

}  // namespace nsa::cli
