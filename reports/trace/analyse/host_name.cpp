#include "host_name.hpp"

namespace nsa::trace {
namespace {

/// PyTorch's key: a text in quotes.
std::string kineto_host(const Trace& trace) {
  for (const auto& [key, value] : trace.other_metadata)
    if (key == "host_name" && value.size() > 2 && value.front() == '"')
      return value.substr(1, value.size() - 2);
  return {};
}

}  // namespace

std::string host_name(const Trace& trace) {
  std::string name;
  for (const ProcessInfo& process : trace.processes) {
    const auto host = process.metadata.find("host");
    if (host == process.metadata.end()) continue;
    if (!name.empty() && name != host->second) return {};
    name = host->second;
  }
  return name.empty() && !trace.source.clocks ? kineto_host(trace) : name;
}

}  // namespace nsa::trace
