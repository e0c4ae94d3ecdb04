// What the scanner finds, against what the compiler read; and what a change of a file changes.
#include <fstream>

#include "catch.hpp"
#include "source_hash_support.hpp"

using namespace nsa;
using namespace nsa::test;
using source_hash::Scanner;
using source_hash::UnitList;

namespace {

Files all_units() {
  Files units;
  for (const UnitList& list : unit_lists().lists)
    units.insert(list.units.begin(), list.units.end());
  return units;
}

/// Of each unit: what the compiler read, or, of one that this build does not compile, what is
/// scanned.
std::map<std::string, Files> files_of_units() {
  std::map<std::string, Files> files = compiled_files().value_or(std::map<std::string, Files>{});
  Scanner scanner = make_scanner();
  for (const std::string& unit : all_units()) files.try_emplace(unit, scanner.files_of(unit));
  return files;
}

/// The hash of each list where one file is another.
std::map<std::string, std::string> hashes_with(const std::string& changed) {
  Scanner scanner(unit_lists().include_folders, [&](const std::string& path) {
    std::optional<std::string> text = source_text(path);
    if (text && path == changed) *text += "\nint touched;\n";
    return text;
  });
  std::map<std::string, std::string> hashes;
  for (const UnitList& list : unit_lists().lists) hashes[list.name] = scanner.hash_of(list);
  return hashes;
}

}  // namespace

TEST_CASE("The scanned files of every unit are those of the repository that the compiler read") {
  const auto compiled = compiled_files();
  if (!compiled) {
    WARN("skipped: only Ninja keeps what the compiler read, this build is by " NSA_GENERATOR);
    return;
  }
  Scanner scanner = make_scanner();
  int not_compiled = 0;
  for (const std::string& unit : all_units()) {
    INFO(unit);
    if (compiled_units().contains(unit)) {
      REQUIRE(compiled->contains(unit));
      CHECK(scanner.files_of(unit) == compiled->at(unit));
    } else {
      ++not_compiled;
      CHECK(scanner.files_of(unit).contains(unit));
    }
  }
  CHECK(not_compiled < static_cast<int>(all_units().size()));
  if (not_compiled) WARN(not_compiled << " units are not compiled in this build");
}

TEST_CASE("The precompiled header hides no file of the repository") {
  std::ifstream header(NSA_BINARY_DIR "/kernels/CMakeFiles/nsa_kernels.dir/cmake_pch.hxx");
  if (!header) {
    WARN("skipped: this build has no precompiled header");
    return;
  }
  int includes = 0;
  for (std::string line; std::getline(header, line);) {
    if (!line.starts_with("#include ")) continue;
    ++includes;
    INFO(line);
    const std::size_t open = line.find('<'), close = line.find('>');
    REQUIRE(close != std::string::npos);  // CMake writes files of a project in quotes
    for (const std::string& folder : unit_lists().include_folders) {
      CHECK_FALSE(source_text(folder + "/" + line.substr(open + 1, close - open - 1)));
    }
  }
  CHECK(includes > 0);
}

TEST_CASE("No unit of a row reads what changes with other rows") {
  Scanner scanner = make_scanner();
  for (const UnitList& list : unit_lists().lists) {
    if (is_of_composites(list)) continue;
    for (const std::string& file : scanner.files_of(list)) {
      INFO(list.name << " reads " << file);
      CHECK_FALSE(file.ends_with("/catalog.hpp"));
      CHECK_FALSE(file.starts_with("kernels/catalog/rows.hpp"));
      CHECK_FALSE(file.ends_with("/variants.hpp"));
      CHECK_FALSE(source_text(file)->find("#include \"launches/") != std::string::npos);
    }
  }
}

TEST_CASE("A change of any file changes the hashes of the lists that it belongs to, and no other") {
  const auto files = files_of_units();
  Files all;
  std::map<std::string, Files> of_list;
  for (const UnitList& list : unit_lists().lists) {
    for (const std::string& unit : list.units) {
      of_list[list.name].insert(files.at(unit).begin(), files.at(unit).end());
    }
    all.insert(of_list[list.name].begin(), of_list[list.name].end());
  }
  const auto before = hashes_with("");
  CHECK(all.size() > 100);
  for (const std::string& file : all) {
    const auto after = hashes_with(file);
    for (const auto& [list, hash] : before) {
      INFO(file << " and " << list);
      CHECK((after.at(list) != hash) == of_list.at(list).contains(file));
    }
  }
}
