// Our turn on the device: its lock, and worker processes that several contests share. A worker may
// have several processes at once ("lanes"), of which one measures while the others do nothing:
// those of a contest, and of several contests ("crews") that get ready at the same time.
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

  /// So many lanes of each contest instead of one, and so many crews of them; before begin(). With
  /// several lanes there is one worker, and it is ours. Lane `l` of crew `c` is c * lanes() + l.
  void set_lanes(std::size_t lanes, std::size_t crews = 1);
  std::size_t lanes() const noexcept { return lanes_; }
  std::size_t crews() const noexcept { return crews_; }
  std::size_t lane() const noexcept { return lane_; }
  /// What follows is about the processes of this lane. Waits for ahead().
  void use(std::size_t lane);
  /// Has another lane work on a thread of its own: its process, started if it does not run, frees
  /// what was retired and is handed to `work`, after all that it was given before. Of one that does
  /// not start nothing is told: start() will.
  void ahead(std::size_t lane, std::function<void(WorkerClient&)> work);
  /// Waits until the processes that ahead() had to start have said hello.
  void join_starts();
  /// Waits until all that ahead() began has ended: nothing is measured beside it.
  void join_ahead();
  /// Tells the processes of a lane apart: a handle is worth nothing in another one. 0: none runs.
  std::size_t process_in(std::size_t lane) const;

  /// Where there are several lanes and nobody else has the device: begins the turn and has their
  /// processes start (of the first crew) while the caller does something else than measure.
  void start_ahead();
  /// The first lane's process, as long as it runs, once it has started. Null where none was started
  /// ahead.
  WorkerClient* lend(std::size_t worker);
  /// Waits for the device, unless this is our turn already. Throws Interrupted.
  void begin();
  /// Ends the workers and gives the device back; the next turn has fresh processes.
  void end();

  /// Ends the processes of all lanes and waits for it: what they hold is free then.
  void clear();
  /// Starts that worker if it does not run; a second time if it must. Throws Interrupted.
  Answer<worker::HelloReply> start(std::size_t worker);
  bool alive(std::size_t worker) const;
  /// Null where it was not started.
  WorkerClient* find(std::size_t worker) { return slot(lane_, worker).client.get(); }
  /// One that was started.
  WorkerClient& client(std::size_t worker) { return *slot(lane_, worker).client; }

  /// Processes of all lanes, where each worker is one: ours are, a user's may have children.
  std::optional<std::size_t> processes() const;

  /// A handle that is not needed any more: freed before the next contest, or with its process.
  void retire(std::size_t worker, std::int64_t handle) { retire(lane_, worker, handle); }
  void retire(std::size_t lane, std::size_t worker, std::int64_t handle) {
    slot(lane, worker).retired.push_back(handle);
  }
  /// Frees what was retired, in all lanes. A worker that cannot is ended: the next start() begins a
  /// fresh one.
  void release_retired();

 private:
  struct Slot {
    std::size_t worker = 0;                // command, of those of the sweep
    std::unique_ptr<WorkerClient> client;  // null = not started
    std::vector<std::int64_t> retired;     // handles of it
    bool cannot_release = false;
    std::size_t number = 0;     // of its process, of all of this turn and before
    std::future<void> started;  // of a process that ahead() starts
    std::future<void> ahead;    // what it works on by itself
    bool runs() const { return client && client->alive(); }
  };
  std::size_t place(std::size_t lane, std::size_t worker) const;
  Slot& slot(std::size_t lane, std::size_t worker) { return slots_[place(lane, worker)]; }
  void wait_for_device();
  void renew(Slot& slot);
  bool release(Slot& slot);
  /// Of one that cannot, the process is ended.
  bool free_retired(Slot& slot);
  /// Ours end on a thread of their own: join_leaving().
  void end_processes();
  void join_leaving();

  const SweepInput& input_;
  Interrupt& interrupt_;
  Reporter& reporter_;
  TimeBreakdown& breakdown_;
  std::function<void()> while_it_works_;
  std::optional<DeviceLock> lock_;  // none where the device is shared
  bool begun_ = false;
  std::vector<Slot> slots_;  // lane by lane, a slot for each worker command
  std::size_t lanes_ = 1, crews_ = 1;
  std::size_t lane_ = 0;  // that is used now
  std::size_t processes_started_ = 0;
  std::future<void> leaving_;  // workers of the turn before, which end
};

}  // namespace nsa::tuner
