#include "nsa/tuner/signals.hpp"

#include <signal.h>

#include <array>

namespace nsa::tuner {
namespace {

constexpr std::array kOfWrites{SIGPIPE, SIGXFSZ};
constexpr std::array kToChildren{SIGINT, SIGTERM, SIGUSR1};

}  // namespace

void ignore_failed_writes() noexcept {
  for (const int number : kOfWrites) signal(number, SIG_IGN);
}

void end_on_failed_writes() noexcept {
  for (const int number : kOfWrites) signal(number, SIG_DFL);
}

void reset_signals() noexcept {
  end_on_failed_writes();
  for (const int number : kToChildren) signal(number, SIG_DFL);
}

}  // namespace nsa::tuner
