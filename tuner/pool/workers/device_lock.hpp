// One process measures at a time on a device: a lock file per device, free when its holder dies.
#pragma once

#include <string>

#include "process/child.hpp"
#include "process/interrupt.hpp"

namespace nsa::tuner {

class DeviceLock {
 public:
  /// The file is `nsatune-<uuid>.lock` in `folder`; empty: $XDG_RUNTIME_DIR, else the temporary
  /// folder. EnvironmentError when it cannot be opened.
  DeviceLock(const std::string& folder, const std::string& device_uuid);
  /// Takes the lock if nobody has it.
  bool try_lock();
  /// Waits for it; false when the interrupt came first.
  bool lock(const Interrupt& interrupt);
  void unlock();

 private:
  Fd file_;
};

}  // namespace nsa::tuner
