// sweep --json-lines: what happens while a sweep runs, one JSON object a line, for CI.
#pragma once

#include <chrono>
#include <string>

#include "nsa/schemas/json.hpp"
#include "nsa/tuner/sweep.hpp"

namespace nsa::cli {

/// Prints each event on stdout at once, and passes everything on to another reporter.
class SweepEvents final : public tuner::Reporter {
 public:
  explicit SweepEvents(tuner::Reporter& next) : next_(next) {}
  /// At the end of each contest, and once a second at most between them.
  void progress(const tuner::Progress& progress) override;
  void note(const std::string& line) override;
  void event(const tuner::Event& event) override;
  /// The last line: what --json prints.
  static void end(const Json& result);

 private:
  tuner::Reporter& next_;
  std::chrono::steady_clock::time_point next_progress_{};
};

}  // namespace nsa::cli
