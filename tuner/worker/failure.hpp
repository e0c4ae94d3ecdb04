// An experiment that cannot be done: its status and reason, on the way to a `failed` reply.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "nsa/schemas/types.hpp"

namespace nsa::tuner {

class Failure : public std::runtime_error {
 public:
  Failure(Outcome status, const std::string& reason)
      : std::runtime_error(reason), status_(status) {}
  Outcome status() const noexcept { return status_; }

 private:
  Outcome status_;
};

/// Remembers a text (cut at 250 bytes) for the handler; no allocation.
void set_beacon(std::string_view doing) noexcept;
/// SIGUSR1 writes the text and a backtrace of the thread that gets it to stderr, and goes on.
void install_beacon();

}  // namespace nsa::tuner
