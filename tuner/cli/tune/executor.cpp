#include "executor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "nsa/kernels/routing.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/executor.hpp"
#include "nsa/tuner/foreign_worker.hpp"

namespace nsa::cli {
namespace {

std::optional<tuner::ForeignWorker> worker_of(const Run& run, const std::string& executor) {
  if (executor == kOwnExecutor) return std::nullopt;
  const auto worker = tuner::foreign_worker_of(run);
  return worker && worker->executor == executor ? worker : std::nullopt;
}

}  // namespace

ExecutorChoice choose_executor(const std::vector<std::string>& with_rows,
                               const std::optional<std::string>& asked) {
  if (asked) return {*asked, ""};
  const std::string own(kOwnExecutor);
  if (std::find(with_rows.begin(), with_rows.end(), own) != with_rows.end() || with_rows.empty())
    return {own, ""};
  const std::string& only = with_rows.front();
  if (with_rows.size() == 1) return {only, "decided for " + only + ": all rows are of it"};
  throw InputError(
      fmt::format("tune: there are rows of the executors {}; choose one: --executor {}",
                  fmt::join(with_rows, ", "), only));
}

Device device_of_rows(const Run& newest, const std::string& executor, const Device& stored) {
  const auto worker = worker_of(newest, executor);
  return worker && worker->device.uuid == stored.uuid ? worker->device : stored;
}

Validators validators_of_rows(const Device& device, const std::string& executor) {
  Validators validators = validators_of(device);
  if (executor != kOwnExecutor) validators.compiler.clear();  // nobody knows what theirs was
  return validators;
}

std::string simulation_note(const Run& newest, const std::string& executor) {
  const auto worker = worker_of(newest, executor);
  if (!worker || !worker->simulated) return "";
  return worker->device.name + ": the worker says that its clock is virtual; nothing was measured";
}

}  // namespace nsa::cli
