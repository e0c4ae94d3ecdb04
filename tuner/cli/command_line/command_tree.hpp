// Every command of the program with the words that call it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

namespace nsa::cli {

struct CommandPlace {
  std::string path;  // "nsatune db info"
  const CLI::App* app;
};

/// `app` under the name `path`, and all commands below it, parents first.
inline std::vector<CommandPlace> command_tree(const CLI::App& app, const std::string& path) {
  std::vector<CommandPlace> places{{path, &app}};
  for (const CLI::App* command : app.get_subcommands({}))
    for (CommandPlace& place : command_tree(*command, path + " " + command->get_name()))
      places.push_back(std::move(place));
  return places;
}

}  // namespace nsa::cli
