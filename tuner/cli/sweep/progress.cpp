#include "progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "nsa/reports/progress.hpp"
#include "nsa/schemas/text.hpp"

namespace nsa::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kTerminalEvery = std::chrono::milliseconds(100);
constexpr std::size_t kColumns = 100;  // where nobody says how many there are
constexpr auto kLogEvery = std::chrono::seconds(10);

/// How much of a line the terminal shows; a full line would wrap, and the next not cover it.
std::size_t columns() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col - 1u : kColumns;
}

}  // namespace

ProgressLine::ProgressLine(const Settings& settings)
    : quiet_(settings.quiet),
      terminal_(isatty(STDERR_FILENO) && !dumb_terminal()),
      next_(Clock::now()) {}

void ProgressLine::progress(const tuner::Progress& p) {
  if (quiet_ || Clock::now() < next_) return;
  next_ = Clock::now() + (terminal_ ? Clock::duration(kTerminalEvery) : Clock::duration(kLogEvery));
  reports::ProgressState state;
  state.done = p.contests_done;
  state.total = p.contests;
  state.elapsed_s = p.elapsed_s;
  state.left_s = p.left_s;
  state.job = p.contest + " " + p.variant;
  const std::string line = reports::progress_line(state, terminal_ ? columns() : kColumns);
  std::fprintf(stderr, terminal_ ? "\r\033[K%s" : "%s\n", line.c_str());
  shown_ = terminal_;
}

void ProgressLine::note(const std::string& line) {
  if (quiet_) return;
  clear();
  std::fprintf(stderr, "%s\n", visible(line).c_str());
}

void ProgressLine::clear() {
  if (shown_) std::fprintf(stderr, "\r\033[K");
  shown_ = false;
}

}  // namespace nsa::cli
