// What a sweep shows while it runs: one line that is rewritten on a terminal, a line now and then
// elsewhere, notes between them. All on stderr.
#pragma once

#include <chrono>

#include "nsa/tuner/sweep.hpp"
#include "program.hpp"

namespace nsa::cli {

class ProgressLine final : public tuner::Reporter {
 public:
  explicit ProgressLine(const Settings& settings);
  void progress(const tuner::Progress& progress) override;
  void note(const std::string& line) override;
  /// Takes the line off the terminal.
  void clear();

 private:
  bool quiet_;
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace nsa::cli
