// Runs the program as a user does: arguments, environment, exit code, both outputs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "nsa/schemas/json.hpp"

namespace nsa::test {

struct Result {
  int exit_code = -1;
  std::string out, err;
};

/// A folder of its own for one test, removed at the end.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

/// `arguments` as a shell would split them; runs in `folder` with its own XDG folders, and
/// `environment` ("NAME=value ...") in front.
Result nsatune(const Folder& folder, const std::string& arguments,
               const std::string& environment = "");
/// stdout of a command with --json, which must be one document that obeys `schema`.
Json json_of(const Result& result, const std::string& schema);

}  // namespace nsa::test
