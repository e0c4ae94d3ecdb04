// Input files of the rules, and the program over them.
#pragma once

#include <set>
#include <string>

#include "../cli/program.hpp"

namespace nsa::test {

/// tests/doctor/fixtures
std::string fixtures_folder();

/// The fixture's files, copied into a folder of their own, with its database.
class Fixture {
 public:
  /// "masked_switch_off/red"
  explicit Fixture(const std::string& name);
  /// `nsatune doctor` over all of its files.
  Result run(const std::string& flags = "") const;
  const Folder& folder() const noexcept { return folder_; }

 private:
  Folder folder_;
  std::string arguments_;
};

/// Ids of the rules that a document of `doctor --json` names.
std::set<std::string> rules_of(const Json& document);

}  // namespace nsa::test
