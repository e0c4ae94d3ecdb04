// What the tests of merging share: databases with rows in every table, parts of them, and their
// content as a text.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "support.hpp"

namespace nsa::test {

/// A database with `runs` runs of different machines and about 20 rows each, in every table.
void make_fleet(const std::string& path, int runs);

/// All rows of all tables, sorted: equal for equal content.
std::string content_of(const std::string& path);

/// Copies `whole` into `count` files beside it ("part0.sqlite", ...), each with some of the rows
/// and some runs still open, so that every row and every end of a run is in one of them or in
/// several.
std::vector<std::string> split(const TempFolder& folder, const std::string& whole, int count,
                               std::mt19937& random);

/// Runs SQL on a closed database without its foreign keys and checks.
void tamper(const std::string& path, const std::string& sql);

}  // namespace nsa::test
