// Our turn on the device: its lock, and worker processes that several contests share.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "pool/workers/device_lock.hpp"
#include "process/worker_client.hpp"

namespace nsa::tuner {

/// Says that the user or the budget ended the sweep: no outcome, no row.
struct Interrupted {};

class Turn {
 public:
  /// All are borrowed. `while_it_works` is called when a worker has a request to work on.
  Turn(const SweepInput& input, Interrupt& interrupt, Reporter& reporter, TimeBreakdown& breakdown,
       std::function<void()> while_it_works);
  ~Turn() {
    end();
    join_leaving();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  /// Waits for the device, unless this is our turn already. Throws Interrupted.
  void begin();
  /// Ends the workers and gives the device back; the next turn has fresh processes.
  void end();

  /// Starts that worker if it does not run; a second time if it must. Throws Interrupted.
  Answer<worker::HelloReply> start(std::size_t worker);
  bool alive(std::size_t worker) const;
  /// Null where it was not started.
  WorkerClient* find(std::size_t worker) { return slots_.at(worker).client.get(); }
  /// One that was started.
  WorkerClient& client(std::size_t worker) { return *slots_.at(worker).client; }

  /// Processes that measure now, where each worker is one: ours are, a user's may have children.
  std::optional<std::size_t> processes() const;

  /// A handle that is not needed any more: freed before the next contest, or with its process.
  void retire(std::size_t worker, std::int64_t handle);
  /// Frees what was retired. A worker that cannot is ended: the next start() begins a fresh one.
  void release_retired();

 private:
  struct Slot {
    std::unique_ptr<WorkerClient> client;  // null = not started
    std::vector<std::int64_t> retired;     // handles of it
    bool cannot_release = false;
  };
  bool release(Slot& slot);
  void join_leaving();

  const SweepInput& input_;
  Interrupt& interrupt_;
  Reporter& reporter_;
  TimeBreakdown& breakdown_;
  std::function<void()> while_it_works_;
  std::optional<DeviceLock> lock_;  // none where the device is shared
  bool begun_ = false;
  std::vector<Slot> slots_;    // by worker command
  std::future<void> leaving_;  // workers of the turn before, which end
};

}  // namespace nsa::tuner
