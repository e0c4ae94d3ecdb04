#include "command_line/command_tree.hpp"

namespace nsa::cli {

std::vector<CommandPlace> command_tree(const CLI::App& app, const std::string& path) {
  std::vector<CommandPlace> places{{path, &app}};
  for (const CLI::App* command : app.get_subcommands({}))
    for (CommandPlace& place : command_tree(*command, path + " " + command->get_name()))
      places.push_back(std::move(place));
  return places;
}

}  // namespace nsa::cli
