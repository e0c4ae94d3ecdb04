// Adds the wall time of a scope to an account of the breakdown.
#pragma once

#include "process/child.hpp"

namespace nsa::tuner {

class Account {
 public:
  explicit Account(double& account) : account_(account), start_(Clock::now()) {}
  ~Account() { account_ += seconds_since(start_); }
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

 private:
  double& account_;
  TimePoint start_;
};

}  // namespace nsa::tuner
