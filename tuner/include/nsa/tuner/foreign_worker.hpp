// What a run keeps of the worker of somebody else that it was measured with: the part "worker" of
// its spec.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "nsa/schemas/json.hpp"

namespace nsa::tuner {

struct ForeignWorker {
  std::string command;  // as --worker gave it
  std::string executor;
  bool simulated = false;
  Device device;                               // that of its hello, completed
  std::map<VariantId, worker::Orders> orders;  // of the variants of which it says one
};

/// The worker that said `hello` on `host`. Its device gets an uuid where it says none (a hash of
/// host, id and name), and name and uuid say so where it is simulated: its decisions are never
/// those of the device that it plays.
ForeignWorker foreign_worker(const std::string& command, const worker::HelloReply& hello,
                             const std::string& host);
/// The part of a run's spec. It holds nothing that differs from start to start, so that a resume
/// finds its run.
Json to_spec(const ForeignWorker& worker);
/// The reverse, from Run::spec_json; nothing where a run had our worker only, or was made by a
/// version that kept no more than the command.
std::optional<ForeignWorker> foreign_worker_of(const Run& run);

}  // namespace nsa::tuner
