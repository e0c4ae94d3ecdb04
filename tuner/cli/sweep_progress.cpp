#include "sweep_progress.hpp"

#include <unistd.h>

#include <cstdio>

#include "nsa/reports/progress.hpp"

namespace nsa::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kTerminalEvery = std::chrono::milliseconds(100);
constexpr auto kLogEvery = std::chrono::seconds(10);

}  // namespace

ProgressLine::ProgressLine(const Settings& settings)
    : quiet_(settings.quiet), terminal_(isatty(STDERR_FILENO)), next_(Clock::now()) {}

void ProgressLine::progress(const tuner::Progress& p) {
  if (quiet_ || Clock::now() < next_) return;
  next_ = Clock::now() + (terminal_ ? Clock::duration(kTerminalEvery) : Clock::duration(kLogEvery));
  reports::ProgressState state;
  state.done = p.contests_done;
  state.total = p.contests;
  state.elapsed_s = p.elapsed_s;
  state.left_s = p.left_s;
  state.job = p.contest + " " + p.variant;
  const std::string line = reports::progress_line(state, 100);
  std::fprintf(stderr, terminal_ ? "\r\033[K%s" : "%s\n", line.c_str());
  shown_ = terminal_;
}

void ProgressLine::note(const std::string& line) {
  if (quiet_) return;
  clear();
  std::fprintf(stderr, "%s\n", line.c_str());
}

void ProgressLine::clear() {
  if (shown_) std::fprintf(stderr, "\r\033[K");
  shown_ = false;
}

}  // namespace nsa::cli
