#include "source_hash_objects.hpp"

#include <link.h>

#include <cstdint>
#include <filesystem>
#include <sstream>

namespace nsa::test {
namespace {

/// Where this program was loaded to.
std::uintptr_t load_address() {
  std::uintptr_t address = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        *static_cast<std::uintptr_t*>(to) = info->dlpi_addr;
        return 1;  // the program is the first
      },
      &address);
  return address;
}

std::map<std::uintptr_t, Files> symbols_of_program() {
  std::map<std::uintptr_t, Files> symbols;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  for (const std::string& line : lines_of(NSA_NM " -P --defined-only '" + program + "'")) {
    std::istringstream words(line);
    std::string name, type;
    std::uintptr_t value = 0;
    if (words >> name >> type >> std::hex >> value) symbols[value].insert(name);
  }
  return symbols;
}

}  // namespace

Objects::Objects() {
  // "OBJECT: NAME TYPE VALUE SIZE"
  for (const std::string& line : lines_of(NSA_NM " -P -A @" NSA_KERNEL_OBJECTS)) {
    std::istringstream words(line);
    std::string object, name, type;
    words >> object >> name >> type;
    object.pop_back();  // the colon
    const std::string unit = unit_of_object(object);
    Files& needs = needs_[unit];
    if (type == "U" || type == "w" || type == "v") {
      needs.insert(name);
    } else if (type == "W" || type == "V" || type == "u") {
      weak_[name].insert(unit);
    } else {
      (type[0] >= 'a' ? local_ : global_)[name].insert(unit);
    }
  }
}

Files Objects::definers(const std::string& symbol) const {
  Files units;
  for (const auto* table : {&global_, &weak_, &local_}) {
    if (const auto found = table->find(symbol); found != table->end()) {
      units.insert(found->second.begin(), found->second.end());
    }
  }
  return units;
}

Files Objects::reached(const Files& from,
                       const std::function<bool(const std::string&)>& ends) const {
  Files seen;
  std::vector<std::string> open(from.begin(), from.end());
  while (!open.empty()) {
    const std::string unit = open.back();
    open.pop_back();
    if (!seen.insert(unit).second || ends(unit)) continue;
    for (const std::string& symbol : needs_.at(unit)) {
      const auto& table = global_.contains(symbol) ? global_ : weak_;
      const auto found = table.find(symbol);
      if (found == table.end()) continue;  // of another library
      open.insert(open.end(), found->second.begin(), found->second.end());
    }
  }
  return seen;
}

Files symbols_at(const void* address) {
  static const auto symbols = symbols_of_program();
  const auto found = symbols.find(reinterpret_cast<std::uintptr_t>(address) - load_address());
  return found == symbols.end() ? Files{} : found->second;
}

}  // namespace nsa::test
