#include "nsa/trace/waits.hpp"

#include <algorithm>
#include <array>

#include "launches.hpp"

namespace nsa::trace {
namespace {

// CUDA's programming guide, "API synchronization behavior": transfers of up to this many bytes from
// pageable memory return at once.
constexpr std::uint64_t kStagedAtOnceBytes = 64 << 10;

using Words = std::initializer_list<std::string_view>;

bool begins_with(const std::string& name, Words words) {
  return std::any_of(words.begin(), words.end(), [&](auto word) { return name.starts_with(word); });
}
bool holds(const std::string& name, std::string_view word) { return name.find(word) != name.npos; }

bool allocates(const std::string& api) {
  return !holds(api, "Async") &&
         begins_with(api, {"cudaMalloc", "cudaFree", "cudaHostAlloc", "cudaHostRegister",
                           "cudaHostUnregister", "cuMemAlloc", "cuMemFree", "cuMemHostAlloc",
                           "cuMemHostRegister", "cuMemCreate", "cuMemRelease", "cuMemMap",
                           "cuMemUnmap", "cuMemSetAccess", "hipMalloc", "hipFree", "hipHostMalloc",
                           "hipHostFree", "hipExtMallocWithFlags"});
}

bool loads_code(const std::string& api) {
  return begins_with(api, {"cuModuleLoad", "cuModuleUnload", "cuLibraryLoad", "cudaLibraryLoad",
                           "cuLinkComplete", "hipModuleLoad"});
}

/// Copies that return when all is done. Between GPUs they do not wait for the host.
bool copies_in_order(const std::string& api) {
  return begins_with(api, {"cudaMemcpy", "cuMemcpy", "hipMemcpy"}) && !holds(api, "Async") &&
         !holds(api, "Peer");
}

WaitKind wait_of_name(const std::string& api) {
  if (is_host_sync(api)) return WaitKind::sync;
  if (allocates(api)) return WaitKind::allocation;
  if (loads_code(api)) return WaitKind::module_loading;
  return copies_in_order(api) ? WaitKind::copy : WaitKind::none;
}

/// Whether the host waits for the copy itself, whatever the call.
bool copy_blocks(const std::string& name, std::uint64_t bytes) {
  if (holds(name, "-> Pageable")) return true;
  return holds(name, "(Pageable") && bytes > kStagedAtOnceBytes;
}

bool stays_on_devices(const std::string& name) {
  return holds(name, "DtoD") || holds(name, "PtoP") || holds(name, "DeviceToDevice");
}

}  // namespace

std::string_view to_text(WaitKind kind) {
  constexpr std::array<std::string_view, 6> kTexts{"none",       "sync",           "copy",
                                                   "allocation", "module_loading", "queue_full"};
  return kTexts.at(static_cast<std::size_t>(kind));
}

std::vector<WaitKind> waits_of_calls(const Trace& trace, const std::vector<std::uint32_t>& launch) {
  std::vector<WaitKind> of_name;
  for (NameId id = 0; id < trace.names.size(); ++id)
    of_name.push_back(wait_of_name(trace.names.text(id)));
  std::vector<WaitKind> out;
  out.reserve(trace.calls.size());
  for (const ApiCall& call : trace.calls) out.push_back(of_name[call.name]);
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    const GpuOp& op = trace.ops[i];
    if (op.kind != OpKind::copy || launch[i] == kNone || op.graph_node != 0) continue;
    const std::string& name = trace.names.text(op.name);
    WaitKind& wait = out[launch[i]];
    if (wait == WaitKind::none && copy_blocks(name, op.bytes)) wait = WaitKind::copy;
    if (wait == WaitKind::copy && stays_on_devices(name)) wait = WaitKind::none;
  }
  return out;
}

std::vector<WaitKind> waits_of_calls(const Trace& trace) {
  return waits_of_calls(trace, launches_of(trace));
}

WaitKind wait_of_overhead(const std::string& name) {
  if (holds(name, "Command Buffer") || holds(name, "COMMAND_BUFFER")) return WaitKind::queue_full;
  for (const char* word : {"Module", "Lazy Function", "Driver Compiler", "MODULE", "LAZY"})
    if (holds(name, word)) return WaitKind::module_loading;
  return WaitKind::none;
}

}  // namespace nsa::trace
