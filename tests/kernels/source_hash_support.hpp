// The sources of this build, its lists of units, and what the compiler read.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scan.hpp"

namespace nsa::test {

using Files = std::set<std::string>;  // relative to the repository

/// What a command prints, line by line. Throws where it fails.
std::vector<std::string> lines_of(const std::string& command);

/// A file of the repository, read once; nothing where there is none.
const std::optional<std::string>& source_text(const std::string& path);
/// The lists that this build hashes.
const source_hash::Lists& unit_lists();
/// Code of composites: it calls rows of the table, which have hashes of their own.
bool is_of_composites(const source_hash::UnitList& list);
/// Of the repository as it is.
source_hash::Scanner make_scanner();

/// kernels/cpu/rows.cpp, of its object in a build folder; empty for another library's.
std::string unit_of_object(const std::string& object);
/// Units that this build compiles into the library.
const Files& compiled_units();
/// Files of the repository that each unit was compiled from, as the compiler says. Nothing where
/// the build was not made by Ninja.
std::optional<std::map<std::string, Files>> compiled_files();

}  // namespace nsa::test
