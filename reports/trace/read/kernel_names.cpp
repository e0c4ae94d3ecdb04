#include "kernel_names.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

namespace nsa::trace {

std::string demangled(std::string_view name) {
  std::string text(name);
  if (!name.starts_with("_Z")) return text;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? std::string(plain.get()) : text;
}

std::string demangled_words(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t blanks = std::min(text.find_first_not_of(" \n\t"), text.size());
    out += text.substr(0, blanks);
    text.remove_prefix(blanks);
    const std::size_t word = std::min(text.find_first_of(" \n\t"), text.size());
    out += demangled(text.substr(0, word));
    text.remove_prefix(word);
  }
  return out;
}

std::string_view without_version(std::string_view api) {
  for (const std::string_view suffix : {"_ptsz", "_ptds"})
    if (api.ends_with(suffix)) api.remove_suffix(suffix.size());
  const std::size_t digits = api.find_last_not_of("0123456789");
  if (digits == api.npos || digits + 1 == api.size() || digits < 2) return api;
  const std::string_view head = api.substr(0, digits + 1);
  // cuMemcpyHtoD_v2 is a name of its own; runtime versions have four digits and more.
  return head.ends_with("_v") && api.size() - head.size() >= 4 ? head.substr(0, digits - 1) : api;
}

bool is_profiler_overhead(std::string_view name) {
  static constexpr std::array<std::string_view, 5> kOfCuda{
      "Command Buffer Full", "Lazy Function Loading", "Runtime Triggered Module Loading",
      "Driver Compiler", "(CUDA)"};
  return std::none_of(kOfCuda.begin(), kOfCuda.end(),
                      [&](std::string_view word) { return name.find(word) != name.npos; });
}

}  // namespace nsa::trace
