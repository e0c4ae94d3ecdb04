#include "measuring.hpp"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <filesystem>

#include "nsa/kernels/vendor.hpp"
#include "nsa/probes/activity.hpp"
#include "nsa/probes/probes.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::cli {

tuner::WorkerCommand our_worker(const Device& device) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  return {{program, "worker", "--device", device.id}, {}, true};
}

void add_tracer(tuner::SweepInput& input) {
  if (input.device.backend != Backend::cuda) return;
  try {
    const std::string library = probes::tracer_library();
    input.no_tracer = probes::activity_missing();
    if (input.no_tracer.empty()) input.no_tracer = probes::other_tracer(library);
    if (input.no_tracer.empty()) input.tracer_library = library;
  } catch (const EnvironmentError& error) {
    input.no_tracer = error.what();
  }
}

std::vector<Capability> libraries_here() {
  std::vector<Capability> libraries = probes::capabilities();
  for (Capability& kernels : vendor_capabilities()) libraries.push_back(std::move(kernels));
  return libraries;
}

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

std::map<std::string, std::map<VariantId, worker::Orders>> offered_orders(
    const tuner::Discovery& found) {
  std::map<std::string, std::map<VariantId, worker::Orders>> orders;
  for (const tuner::Candidate& candidate : found.candidates)
    orders[candidate.executor][candidate.id] = candidate.order;
  return orders;
}

bool all_simulated(const tuner::Discovery& found) {
  return !found.hellos.empty() && std::ranges::all_of(found.hellos, &worker::HelloReply::simulated);
}

double seconds_since(TimePoint start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace nsa::cli
