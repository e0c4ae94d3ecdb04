// One process measures at a time on a device: a lock file per device, free when its holder dies.
#pragma once

#include <optional>
#include <string>

#include "nsa/tuner/lock_holder.hpp"
#include "process/child.hpp"
#include "process/interrupt.hpp"

namespace nsa::tuner {

class DeviceLock {
 public:
  /// The file is `nsatune-<uuid>.lock` in `folder`; empty: NSATUNE_LOCK_DIR, else a folder that all
  /// users of the machine share (/run/lock, or /tmp). EnvironmentError when it cannot be opened.
  DeviceLock(const std::string& folder, const std::string& device_uuid);
  /// Takes the lock if nobody has it.
  bool try_lock();
  /// Waits for it; false when the interrupt came first.
  bool lock(const Interrupt& interrupt);
  void unlock();
  /// Who has it, as the kernel says; nothing where nobody has, or the kernel does not tell (a
  /// process outside of this container).
  std::optional<LockHolder> holder() const;

 private:
  Fd file_;
};

/// "waiting: process 4711 (nsatune sweep default) measures on cuda:0; --share does not wait".
std::string waiting_text(const DeviceLock& lock, const std::string& device_id);

}  // namespace nsa::tuner
