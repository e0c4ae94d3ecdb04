// A command line that is refused.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>

#include "catch.hpp"
#include "program.hpp"

namespace nsa::test {

inline std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// One line on stderr that holds `word`, nothing on stdout, exit 2.
inline void check_refused(const std::string& arguments, const std::string& word,
                          const std::string& environment = "") {
  const Folder folder;
  const Result r = nsatune(folder, arguments, environment);
  INFO(arguments << ": " << r.err);
  CHECK(r.exit_code == 2);
  CHECK(r.out.empty());
  CHECK(lines_of(r.err) == 1);
  CHECK(r.err.find(word) != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder.file("results.sqlite")));
}

}  // namespace nsa::test
