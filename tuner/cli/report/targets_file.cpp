#include "targets_file.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <cmath>

#include "nsa/tuner/yaml_text.hpp"

namespace nsa::cli {
namespace {

/// A plain scalar as YAML's core schema reads it; one in quotes is a text. InputError on .nan and
/// .inf, which a schema lets through and every rate would pass or miss.
Json scalar_json(const YAML::Node& node, const std::string& path) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;
  std::int64_t whole = 0;
  double real = 0;
  bool truth = false;
  if (YAML::convert<std::int64_t>::decode(node, whole)) return whole;
  if (YAML::convert<double>::decode(node, real)) {
    if (!std::isfinite(real))
      throw InputError(
          fmt::format("{}:{}: {} is not a finite number", path, node.Mark().line + 1, text));
    return real;
  }
  if (YAML::convert<bool>::decode(node, truth)) return truth;
  return text;
}

Json json_of(const YAML::Node& node, const std::string& path) {
  if (node.IsScalar()) return scalar_json(node, path);
  if (node.IsSequence()) {
    Json list = Json::array();
    for (const YAML::Node& item : node) list.push_back(json_of(item, path));
    return list;
  }
  Json object = Json::object();
  if (!node.IsMap()) return nullptr;
  for (const auto& item : node) {
    const std::string& key = item.first.Scalar();
    if (object.contains(key))
      throw InputError(
          fmt::format("{}:{}: '{:.60}' appears twice", path, item.first.Mark().line + 1, key));
    object[key] = json_of(item.second, path);
  }
  return object;
}

Json parse_document(const std::string& text, const std::string& path) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos)
    throw InputError(path + ": is empty; nsatune help report targets says what it holds");
  if (text[first] == '{') return parse_json(text, path);
  return json_of(tuner::load_yaml(text, path), path);
}

}  // namespace

std::vector<run_tables::Target> load_targets(const std::string& path) {
  const Json document = parse_document(read_text_file(path), path);
  validate_json(document, "targets", path);
  std::vector<run_tables::Target> targets = run_tables::targets_of(document);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const run_tables::Target& target = targets[i];
    if (target.up_to && *target.up_to < target.at_least)
      throw InputError(fmt::format("{}: /targets/{}: up_to {:g} is below at_least {:g}", path, i,
                                   *target.up_to, target.at_least));
  }
  return targets;
}

void print_targets(const Settings& settings, const std::vector<run_tables::JudgedTarget>& judged,
                   const std::string& file) {
  if (settings.json) {
    print_json(run_tables::targets_json(judged, file));
  } else {
    print_fitted(run_tables::targets_table(judged, settings.style_out()));
  }
}

}  // namespace nsa::cli
