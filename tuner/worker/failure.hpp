// An experiment that cannot be done: its status and reason, on the way to a `failed` reply.
#pragma once

#include <stdexcept>
#include <string>

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

}  // namespace nsa::tuner
