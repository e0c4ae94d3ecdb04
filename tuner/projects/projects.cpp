// The table of projects. A further one is a row here, and a file for its paths and settings.
#include <algorithm>
#include <array>

#include "nsa/schemas/error.hpp"
#include "rows.hpp"

namespace nsa::tuner {

std::span<const Project> projects() {
  static const std::array kProjects{nsa_vibe()};
  return kProjects;
}

const Project& find_project(std::string_view name) {
  std::string names;
  for (const Project& project : projects()) {
    if (project.name == name) return project;
    names += (names.empty() ? "" : ", ") + std::string(project.name);
  }
  throw InputError("--for: " + std::string(name) + " is not a project that is known; there is " +
                   names);
}

std::string_view path_name(const Project& project, Stage stage, SwitchTarget path) {
  const auto of = std::ranges::find(project.stages, stage, &ProjectStage::stage);
  if (of == project.stages.end()) return {};
  const auto found = std::ranges::find(of->paths, path, &ProjectPath::path);
  return found == of->paths.end() ? std::string_view() : found->name;
}

const ProjectPath* path_of(const Project& project, const VariantId& id, SwitchTarget named) {
  if (id.stages.size() != 1) return nullptr;
  for (const ProjectStage& stage : project.stages) {
    if (to_string(stage.stage) != id.stages.front()) continue;
    const auto found = std::ranges::find_if(stage.paths, [&](const ProjectPath& path) {
      const bool by_name = id.name == path.name || id.name == path.row || id.name == path.logged;
      return by_name || (named != SwitchTarget::none && named == path.path);
    });
    return found == stage.paths.end() ? nullptr : &*found;
  }
  return nullptr;
}

}  // namespace nsa::tuner
