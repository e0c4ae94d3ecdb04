#include "inject/symbols.hpp"

#include <cxxabi.h>
#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

namespace nsa::inject {

std::string demangled(const std::string& name) {
  int failure = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &failure), &std::free);
  return failure == 0 && plain ? std::string(plain.get()) : name;
}

std::string name_of_code(const void* address, bool returns) {
  // A call may be the last thing of a function: where it returns to is the next function then.
  const void* at = static_cast<const char*>(address) - (returns ? 1 : 0);
  Dl_info found{};
  if (dladdr(at, &found) == 0 || !found.dli_fname) return "?";
  if (found.dli_sname) return demangled(found.dli_sname);
  const auto offset = static_cast<std::uintmax_t>(static_cast<const char*>(at) -
                                                  static_cast<const char*>(found.dli_fbase));
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "+0x%jx", offset);
  return std::filesystem::path(found.dli_fname).filename().string() + text.data();
}

}  // namespace nsa::inject
