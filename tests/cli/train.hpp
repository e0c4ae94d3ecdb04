// Command lines that train a tiny model, and how one of them is refused.
#pragma once

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "catch.hpp"
#include "program.hpp"
#include "text.hpp"

namespace nsa::test {

inline const std::string kShape = " --preset tiny --seq-len 48 --layers 1 --train ";
inline const std::string kTrain = "run" + kShape + "--no-thresholds --no-db ";

inline std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// One line on stderr, and this exit code.
inline void require_refused(const Folder& folder, const std::string& arguments, int code,
                            const std::string& part) {
  const Result result = nsatune(folder, arguments);
  INFO(arguments << "\n" << result.err);
  CHECK(result.exit_code == code);
  CHECK(result.out.empty());
  CHECK(contains(result.err, part));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
}

}  // namespace nsa::test
