// Thresholds as C++ constants, for programs that want decisions compiled in.
#include <set>

#include <fmt/format.h>

#include "nsa/exchange/exchange.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::exchange {
namespace {

/// Letters, digits and '_' of a text, as a name of C++.
std::string identifier(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (word) {
      name += c;
    } else if (c == '\'' && name.ends_with('l')) {
      name.replace(name.size() - 1, 1, "sel");  // the paper's l'
    } else if (name.empty() || name.back() != '_') {
      name += '_';
    }
  }
  return name;
}

std::string literal(const std::string& text) {
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

/// A text in a comment: one line that ends nothing.
std::string comment(std::string text) {
  for (char& c : text) {
    if (c < ' ' || c > '~' || c == '\\') c = '?';
  }
  return text;
}

std::string range_line(const std::string& axis, const ThresholdRange& range,
                       const std::string& indent) {
  std::string condition = fmt::format("{} >= {}", axis, range.from);
  if (range.to) condition += fmt::format(" && {} < {}", axis, *range.to);
  return fmt::format("{}if ({}) return {};\n", indent, condition,
                     literal(to_string(range.variant)));
}

/// Lengths that are multiples go by these ranges alone, in gaps as well.
std::string aligned_text(const std::string& axis, const Alignment& alignment) {
  std::string text = fmt::format("  if ({} % {} == 0) {{\n", axis, alignment.multiple);
  for (const ThresholdRange& range : alignment.ranges) text += range_line(axis, range, "    ");
  return text + "    return {};\n  }\n";
}

std::string function_name(const Decision& decision) {
  std::string stages;
  for (const std::string& stage : decision.stages)
    stages += (stages.empty() ? "" : "_and_") + stage;
  std::string name = identifier(stages);
  if (decision.launch == LaunchMode::graph) name += "_graph";
  return name;
}

std::string function_text(const Decision& decision, const std::string& name) {
  const std::string axis(to_string(decision.axis));
  const char* unit = decision.axis == Axis::compressed_len ? "compressed tokens" : "tokens";
  std::string text = fmt::format(
      "/// {} in {}; empty where nothing was decided: the runtime's own order.\n"
      "constexpr std::string_view {}([[maybe_unused]] std::int64_t {}) noexcept {{\n",
      axis, unit, name, axis);
  if (decision.alignment) text += aligned_text(axis, *decision.alignment);
  for (const ThresholdRange& range : decision.ranges) text += range_line(axis, range, "  ");
  return text + "  return {};\n}\n";
}

std::string class_text(const ClassDecisions& c) {
  const std::string name = to_string(c.problem_class);
  std::string text = fmt::format("\n// {}\nnamespace {} {{\n", comment(name), identifier(name));
  std::set<std::string> used;
  for (const Decision& decision : c.decisions) {
    std::string function = function_name(decision);
    while (!used.insert(function).second) function += "_";
    text += "\n" + function_text(decision, function);
  }
  return text + "\n}  // namespace " + identifier(name) + "\n";
}

}  // namespace

std::string thresholds_header(const ThresholdTable& table) {
  std::string text = fmt::format(
      "// Which variant runs at which length on {}, decided by {}.\n"
      "// Made by nsatune export; do not edit.\n"
      "#pragma once\n\n#include <cstdint>\n#include <string_view>\n\n"
      "namespace nsa::tuned {{\n\n"
      "inline constexpr std::string_view device_name = {};\n"
      "inline constexpr std::string_view executor = {};\n",
      comment(table.device.name), comment(table.created_by), literal(comment(table.device.name)),
      literal(comment(table.executor)));
  for (const ClassDecisions& c : table.classes) text += class_text(c);
  return text + "\n}  // namespace nsa::tuned\n";
}

}  // namespace nsa::exchange
