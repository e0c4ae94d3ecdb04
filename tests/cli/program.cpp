#include "program.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace nsa::test {

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "nsatune_cli_XXXXXX").string();
  if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
  std::filesystem::remove_all(path_, ignored);
}

void Folder::write(const std::string& name, const std::string& text) const {
  std::ofstream(file(name), std::ios::binary) << text;
}

Result nsatune(const Folder& folder, const std::string& arguments, const std::string& environment) {
  const std::string command = "cd '" + folder.path().string() +
                              "' && env NSATUNE_DEVICE=cpu NSATUNE_LOCK_DIR=. XDG_DATA_HOME='" +
                              folder.file("xdg") + "' NSATUNE_SHIPPED='" + folder.file("none") +
                              "' " + environment + " '" NSATUNE_PROGRAM "' " + arguments + " >'" +
                              folder.file("stdout") + "' 2>'" + folder.file("stderr") + "'";
  const int status = std::system(command.c_str());
  Result result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = read_text_file(folder.file("stdout"));
  result.err = read_text_file(folder.file("stderr"));
  return result;
}

Json json_of(const Result& result, const std::string& schema) {
  const Json document = parse_json(result.out, "stdout");
  validate_json(document, schema, "stdout");
  return document;
}

}  // namespace nsa::test
