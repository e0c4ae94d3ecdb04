// What the objects of this build and this program define and need.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "source_hash_support.hpp"

namespace nsa::test {

/// The symbols of the library's objects.
class Objects {
 public:
  Objects();
  /// Units that define a symbol, be it local to them.
  Files definers(const std::string& symbol) const;
  /// These units and those that define what they need, and so on; nothing after what `ends`.
  Files reached(
      const Files& from, const std::function<bool(const std::string&)>& ends = [](const auto&) {
        return false;
      }) const;

 private:
  std::map<std::string, Files> needs_;  // of a unit: symbols that it does not define
  std::map<std::string, Files> global_, weak_, local_;  // of a symbol: units that define it
};

/// Names of what stands at an address of this program.
Files symbols_at(const void* address);

}  // namespace nsa::test
