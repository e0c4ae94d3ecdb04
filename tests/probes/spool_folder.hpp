// A folder for one test's spools, and what is in them.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "catch.hpp"
#include "nsa/schemas/trace_spool_reader.hpp"

namespace nsa::test {

class SpoolFolder {
 public:
  SpoolFolder() {
    char name[] = "/tmp/nsa_spool_XXXXXX";
    REQUIRE(mkdtemp(name));
    path_ = name;
  }
  ~SpoolFolder() { std::filesystem::remove_all(path_); }
  SpoolFolder(const SpoolFolder&) = delete;
  SpoolFolder& operator=(const SpoolFolder&) = delete;
  const std::string& path() const { return path_; }
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> all;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) all.push_back(entry);
    return all;
  }

 private:
  std::string path_;
};

inline std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The records of one kind, of a whole spool.
template <class Record>
std::vector<Record> records_of(const std::string& path, spool::Kind kind) {
  const std::string bytes = bytes_of(path);
  spool::SpoolCursor cursor(bytes, path);
  std::vector<Record> found;
  while (cursor.next())
    if (cursor.kind() == kind) found.push_back(cursor.get<Record>());
  CHECK(cursor.torn_bytes() == 0);
  return found;
}

}  // namespace nsa::test
