#include "cupti/call_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace nsa::probes::cupti {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Without "_v13000" at the end.
std::string_view without_version(std::string_view name) {
  const std::size_t at = name.rfind("_v");
  if (at == std::string_view::npos || at + 2 == name.size()) return name;
  const std::string_view digits = name.substr(at + 2);
  const bool all = std::all_of(digits.begin(), digits.end(),
                               [](unsigned char c) { return std::isdigit(c) != 0; });
  return all ? name.substr(0, at) : name;
}

/// "cudaStreamGetDevice" has the word Get, "cudaGetterless" has not.
bool has_word_get(std::string_view name) {
  for (std::size_t at = name.find("Get"); at != std::string_view::npos;
       at = name.find("Get", at + 1)) {
    if (at + 3 < name.size() && std::isupper(static_cast<unsigned char>(name[at + 3]))) return true;
  }
  return false;
}

/// The name without "cuda" or "cu" before it.
std::string_view verb_of(std::string_view name) {
  if (name.starts_with("cuda")) return name.substr(4);
  return name.starts_with("cu") ? name.substr(2) : name;
}

}  // namespace

std::string plain_call_name(std::string_view name) {
  while (name.starts_with('_')) name.remove_prefix(1);
  name = without_version(name);
  for (const std::string_view suffix : {"_ptsz", "_ptds"})
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  name = without_version(name);  // cuMemcpyAsync_v2_ptsz
  return std::string(name);
}

bool is_noise_call(std::string_view name) {
  static constexpr std::array kParts{std::string_view("Query"),
                                     std::string_view("PeekAtLastError"),
                                     std::string_view("CallConfiguration"),
                                     std::string_view("Occupancy"),
                                     std::string_view("IsCapturing"),
                                     std::string_view("CtxPushCurrent"),
                                     std::string_view("CtxPopCurrent"),
                                     std::string_view("CtxSetCurrent"),
                                     std::string_view("SetDevice"),
                                     std::string_view("TensorMapEncode"),
                                     std::string_view("ExchangeStreamCaptureMode")};
  return has_word_get(name) ||
         std::any_of(kParts.begin(), kParts.end(),
                     [&](std::string_view part) { return contains(name, part); });
}

bool is_graph_launch(std::string_view name) { return verb_of(name) == "GraphLaunch"; }

bool is_kernel_launch(std::string_view name) {
  const std::string_view verb = verb_of(name);
  return verb.starts_with("Launch") && !contains(verb, "HostFunc");
}

bool is_host_wait(std::string_view name) {
  const std::string_view verb = verb_of(name);
  if (contains(verb, "Synchronize")) return true;
  // Copies without Async in their name wait, but for those within the device.
  return verb.starts_with("Memcpy") && !contains(verb, "Async") && !contains(verb, "DtoD");
}

bool is_allocation(std::string_view name) {
  const std::string_view verb = verb_of(name);
  return verb.starts_with("Malloc") || verb.starts_with("MemAlloc") || verb == "MemCreate" ||
         verb.starts_with("HostAlloc") || verb.starts_with("HostRegister");
}

}  // namespace nsa::probes::cupti
