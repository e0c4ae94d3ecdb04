// The lists are the same in every build.
#include <algorithm>
#include <filesystem>
#include <sstream>

#include "catch.hpp"
#include "source_hash_support.hpp"

using namespace nsa;
using namespace nsa::test;
namespace fs = std::filesystem;

namespace {

/// A command of a CMake file.
struct Command {
  std::string name, arguments;
};

/// Without comments; parentheses of arguments are not nested in what is looked at here.
std::vector<Command> commands_in(const std::string& text) {
  std::string code;
  bool comment = false;
  for (const char c : text) {
    comment = c == '\n' ? false : comment || c == '#';
    if (!comment) code += c;
  }
  std::vector<Command> commands;
  for (std::size_t at = 0, open = 0; (open = code.find('(', at)) != std::string::npos;) {
    const std::size_t close = std::min(code.find(')', open), code.size() - 1);
    std::string name = code.substr(at, open - at);
    name.erase(0, name.find_last_of(" \n)") + 1);
    commands.push_back({name, code.substr(open + 1, close - open - 1)});
    at = close + 1;
  }
  return commands;
}

std::string first_word(const std::string& arguments) {
  return arguments.substr(0, arguments.find_first_of(" \n"));
}

/// What makes lists depend on the build, in the CMake files of kernels/: a list inside an if(), or
/// one with a variable that is set inside of one.
Files conditions_of_lists(const std::string& text) {
  int depth = 0;
  Files conditional, wrong;
  for (const Command& command : commands_in(text)) {
    if (command.name == "if") ++depth;
    if (command.name == "endif") --depth;
    if (depth > 0 && command.name == "set") conditional.insert(first_word(command.arguments));
    if (command.name != "nsa_variant_sources" && command.name != "nsa_add_variant") continue;
    const std::string list = first_word(command.arguments);
    if (depth > 0) wrong.insert(list + " inside an if()");
    for (const std::string& variable : conditional) {
      if (command.arguments.find("${" + variable + "}") != std::string::npos) {
        wrong.insert(list + " with ${" + variable + "}");
      }
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("A list behind a condition of the build is found") {
  CHECK(conditions_of_lists("if(X)\n  set(a b.cpp)\nendif()\nnsa_variant_sources(row ${a})\n") ==
        Files{"row with ${a}"});
  CHECK(conditions_of_lists("if(X) # (\nelse()\nnsa_variant_sources(row a.cpp)\nendif()\n") ==
        Files{"row inside an if()"});
  CHECK(conditions_of_lists("if(X)\nnsa_add_variant(row a.cpp)\nendif()\n") ==
        Files{"row inside an if()"});
  CHECK(conditions_of_lists("set(a b.cpp)\nif(X)\nset(c d)\nendif()\n"
                            "nsa_variant_sources(row ${a})\n") == Files{});
}

TEST_CASE("No list of units depends on what this build has") {
  int files = 0;
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(NSA_SOURCE_DIR "/kernels")) {
    const fs::path& path = entry.path();
    if (path.filename() != "CMakeLists.txt" && path.extension() != ".cmake") continue;
    ++files;
    const auto text = source_text(path.lexically_relative(NSA_SOURCE_DIR).generic_string());
    INFO(path.string());
    CHECK(conditions_of_lists(text.value()) == Files{});
  }
  CHECK(files > 10);
}

TEST_CASE("The constants of this build are those of its lists") {
  source_hash::Scanner scanner = make_scanner();
  const auto header = fs::path(NSA_BINARY_DIR) / "generated/source_hashes.hpp";
  const auto built = lines_of("cat '" + header.string() + "'");
  std::istringstream expected(header_of(unit_lists(), scanner));
  for (std::string line; std::getline(expected, line);) {
    INFO(line);
    CHECK(std::count(built.begin(), built.end(), line) > 0);
  }
  CHECK(built.size() > unit_lists().lists.size());
}
