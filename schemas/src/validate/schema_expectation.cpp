// Says what a schema wants at a place: validators name the keyword that failed,
// users need to know what would have been right.
#include <algorithm>

#include "nsa/schemas/text.hpp"
#include "schema_bundle.hpp"

namespace nsa {
namespace {

using Nodes = std::vector<const Json*>;

/// Of conditions as our schemas have them: fields that are there, and fields that equal something.
bool condition_holds(const Json& condition, const Json& value) {
  const auto required = condition.find("required"), properties = condition.find("properties");
  const bool says_fields = required != condition.end(), says_values = properties != condition.end();
  if ((!says_fields && !says_values) || !value.is_object()) return false;
  if (says_fields) {
    for (const auto& key : *required)
      if (!value.contains(key.get<std::string>())) return false;
  }
  if (!says_values) return true;
  for (const auto& [key, schema] : properties->items()) {
    const auto field = value.find(key);
    if (field == value.end() || !schema.contains("const") || *field != schema["const"])
      return false;
  }
  return true;
}

/// The node after references, and what it demands besides: allOf, and `then`
/// where `if` holds.
void expand(const Json& bundle, const Json& node, const Json& value, Nodes& out) {
  if (node.contains("$ref")) {
    const std::string pointer = node["$ref"].get<std::string>().substr(1);
    expand(bundle, bundle.at(Json::json_pointer(pointer)), value, out);
    return;
  }
  out.push_back(&node);
  if (node.contains("allOf")) {
    for (const auto& part : node["allOf"]) expand(bundle, part, value, out);
  }
  if (node.contains("if") && condition_holds(node["if"], value) && node.contains("then"))
    expand(bundle, node["then"], value, out);
}

/// The schema of one step down: a property, any other property, or an item.
const Json* child_schema(const Json& node, const std::string& step) {
  if (node.contains("properties") && node["properties"].contains(step))
    return &node["properties"][step];
  if (node.contains("additionalProperties") && node["additionalProperties"].is_object())
    return &node["additionalProperties"];
  return node.contains("items") ? &node["items"] : nullptr;
}

const Json* child_value(const Json* value, const std::string& step) {
  if (value->is_object()) return value->contains(step) ? &(*value)[step] : nullptr;
  if (!value->is_array()) return nullptr;
  const std::size_t index = std::stoul(step);
  return index < value->size() ? &(*value)[index] : nullptr;
}

std::string joined(const Json& list) {
  if (!list.is_array()) return list.is_string() ? list.get<std::string>() : list.dump();
  std::string text;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) text += i + 1 == list.size() ? " or " : ", ";
    text += joined(list[i]);
  }
  return text;
}

void add_words(const Json& node, std::string& words) {
  const auto add = [&](const std::string& more) { words += (words.empty() ? "" : ", ") + more; };
  if (node.contains("const")) return add(node["const"].dump());
  if (node.contains("enum")) return add(joined(node["enum"]));
  if (node.contains("type")) add(joined(node["type"]));
  if (node.contains("minimum")) add("at least " + node["minimum"].dump());
  if (node.contains("exclusiveMinimum")) add("above " + node["exclusiveMinimum"].dump());
  if (node.contains("maximum")) add("at most " + node["maximum"].dump());
  const auto add_count = [&](const char* key, const char* words_before, const char* noun) {
    if (node.contains(key)) add(words_before + counted(node[key].get<std::int64_t>(), noun));
  };
  add_count("minItems", "at least ", "item");
  add_count("maxItems", "at most ", "item");
  add_count("minLength", "at least ", "character");
  add_count("maxLength", "at most ", "character");
}

}  // namespace

Expectation expectation_at(const Json& bundle, const Json& document,
                           const std::vector<std::string>& path) {
  const Json* value = &document;
  Nodes nodes;
  expand(bundle, bundle, document, nodes);
  for (const auto& step : path) {
    value = child_value(value, step);
    if (value == nullptr) return {};
    Nodes below;
    for (const Json* node : nodes) {
      if (const Json* child = child_schema(*node, step)) expand(bundle, *child, *value, below);
    }
    nodes = std::move(below);
  }
  Expectation expectation;
  for (const Json* node : nodes) {
    add_words(*node, expectation.words);
    if (!node->contains("properties")) continue;
    for (const auto& property : (*node)["properties"].items()) {
      // A part that a condition adds may say more of a field that is known already.
      auto& known = expectation.known_fields;
      if (std::ranges::find(known, property.key()) == known.end()) known.push_back(property.key());
    }
  }
  return expectation;
}

}  // namespace nsa
