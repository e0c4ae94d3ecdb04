// Text against a file of tests/golden/reports. NSATUNE_UPDATE_GOLDEN=1 writes the file instead.
#pragma once

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "catch.hpp"

inline std::string golden(const std::string& name, const std::string& actual) {
  const std::string path = std::string(NSA_SOURCE_DIR) + "/tests/golden/reports/" + name;
  if (std::getenv("NSATUNE_UPDATE_GOLDEN")) std::ofstream(path) << actual;
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}
#define CHECK_GOLDEN(name, actual) CHECK(golden(name, actual) == (actual))
