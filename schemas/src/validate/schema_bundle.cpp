#include "schema_bundle.hpp"

#include <set>

#include "nsa/schemas/error.hpp"
#include "schema_texts.hpp"

namespace nsa {
namespace {

constexpr std::string_view kSuffix = ".schema.json";
constexpr std::string_view kHere = "#/definitions/";

/// "x.schema.json#/definitions/y" or "#/definitions/y" of document `own`, as a
/// place in the bundle.
std::string rewritten(const std::string& reference, const std::string& own, std::string& other) {
  const std::size_t hash = reference.find('#');
  const std::string file = reference.substr(0, hash);
  other = file.empty() ? own : file.substr(0, file.size() - kSuffix.size());
  const std::string inside = hash == std::string::npos ? "" : reference.substr(hash + 1);
  return std::string(kHere) + other + inside;
}

void rewrite(Json& node, const std::string& own, std::set<std::string>& others) {
  if (!node.is_structured()) return;
  if (node.is_object() && node.contains("$ref")) {
    std::string other;
    node["$ref"] = rewritten(node["$ref"].get<std::string>(), own, other);
    others.insert(other);
    return;
  }
  for (auto& child : node) rewrite(child, own, others);
}

void add_document(Json& definitions, const std::string& name) {
  if (definitions.contains(name)) return;
  Json document = Json::parse(schema_text(name));
  document.erase("$id");
  document.erase("$schema");
  std::set<std::string> others;
  rewrite(document, name, others);
  definitions[name] = std::move(document);
  for (const auto& other : others) add_document(definitions, other);
}

}  // namespace

std::string_view schema_text(std::string_view schema) {
  for (const auto& [name, text] : schema_texts()) {
    if (name == schema) return text;
  }
  throw ContractError("expected: the name of a schema in schemas/json, not " + std::string(schema));
}

Json bundle_schema(std::string_view name) {
  const std::size_t hash = name.find('#');
  const std::string document(name.substr(0, hash));
  const std::string part(hash == name.npos ? "" : name.substr(hash + 1));
  Json bundle = Json::object();
  bundle["$ref"] = std::string(kHere) + document + (part.empty() ? "" : "/definitions/" + part);
  bundle["definitions"] = Json::object();
  add_document(bundle["definitions"], document);
  expects(part.empty() || bundle["definitions"][document]["definitions"].contains(part),
          "the name of a definition of the schema");
  return bundle;
}

}  // namespace nsa
