// Every command of the program with the words that call it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace nsa::cli {

struct CommandPlace {
  std::string path;  // "nsatune db info"
  const CLI::App* app;
};

/// `app` under the name `path`, and all commands below it, parents first.
std::vector<CommandPlace> command_tree(const CLI::App& app, const std::string& path);

}  // namespace nsa::cli
