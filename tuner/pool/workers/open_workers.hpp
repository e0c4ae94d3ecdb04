// Worker processes that said hello and stay for the questions of a plan: one start less.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "process/interrupt.hpp"
#include "process/worker_client.hpp"

namespace nsa::tuner {

class OpenWorkers {
 public:
  OpenWorkers(const std::atomic<bool>* stop, std::string device)
      : interrupt(stop, std::nullopt), device_(std::move(device)) {}
  /// Those that nobody took say bye.
  ~OpenWorkers();
  OpenWorkers(const OpenWorkers&) = delete;
  OpenWorkers& operator=(const OpenWorkers&) = delete;

  /// The next worker's process; null where it has none.
  void add(std::unique_ptr<WorkerClient> client) { clients_.push_back(std::move(client)); }
  /// The process of a worker, once; null where there is none, or none that said hello to `device`.
  /// It borrows `interrupt`.
  std::unique_ptr<WorkerClient> take(std::size_t worker, const std::string& device);
  /// Ends those that nobody took.
  void end();

  Interrupt interrupt;  // of all processes here

 private:
  std::string device_;  // that they were asked for
  std::vector<std::unique_ptr<WorkerClient>> clients_;
};

}  // namespace nsa::tuner
