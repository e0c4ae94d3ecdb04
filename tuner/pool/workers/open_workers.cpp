#include "pool/workers/open_workers.hpp"

#include <exception>
#include <utility>

namespace nsa::tuner {

OpenWorkers::~OpenWorkers() {
  try {
    end();
  } catch (const std::exception&) {
    // Who cannot be told to end is killed.
  }
}

std::unique_ptr<WorkerClient> OpenWorkers::take(std::size_t worker, const std::string& device) {
  if (worker >= clients_.size() || !clients_[worker]) return nullptr;
  // A worker of somebody else names the device that it has, whatever it was asked for.
  if (device != device_ && device != clients_[worker]->hello().device.id) return nullptr;
  return std::exchange(clients_[worker], nullptr);
}

void OpenWorkers::end() {
  const auto clients = std::exchange(clients_, {});
  for (const auto& client : clients)
    if (client && !interrupt.stopped()) client->finish();
}

}  // namespace nsa::tuner
