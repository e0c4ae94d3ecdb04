// The data dictionary (schemas/README.md), the JSON Schemas and the C++ structs name the same
// fields.
#include <map>
#include <set>
#include <sstream>

#include "catch.hpp"
#include "filled.hpp"
#include "validate/schema_bundle.hpp"
#include "validate/schema_texts.hpp"

namespace nsa {
namespace {

using Names = std::set<std::string>;
using Tables = std::map<std::string, Names>;  // title of a table -> its fields

/// Fields of an object and of the inline objects below it, as the dictionary writes them.
void add_fields(const Json& node, const std::string& prefix, Names& out) {
  if (!node.contains("properties")) return;
  for (const auto& [name, field] : node["properties"].items()) {
    out.insert(prefix + name);
    add_fields(field, prefix + name + ".", out);
    if (field.contains("items")) add_fields(field["items"], prefix + name + "[].", out);
  }
}

Tables tables_of_schemas() {
  Tables tables;
  for (const auto& [name, text] : schema_texts()) {
    const std::string title(name);
    const Json schema = Json::parse(text);
    add_fields(schema, "", tables[title]);
    if (!schema.contains("definitions")) continue;
    for (const auto& [part, node] : schema["definitions"].items())
      add_fields(node, "", tables[title + "." + part]);
  }
  return tables;
}

Tables tables_of_dictionary() {
  Tables tables;
  std::istringstream text(read_text_file(std::string(NSA_SOURCE_DIR) + "/schemas/README.md"));
  std::string title;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("### ")) tables[title = line.substr(4)] = {};
    if (title.empty() || !line.starts_with("| `")) continue;
    tables[title].insert(line.substr(3, line.find('`', 3) - 3));
  }
  return tables;
}

TEST_CASE("the data dictionary and the schemas name the same fields", "[schemas]") {
  const Tables schemas = tables_of_schemas(), dictionary = tables_of_dictionary();
  INFO("after a change of a schema run: python3 schemas/dictionary.py");
  for (const auto& [title, fields] : schemas) {
    CAPTURE(title);
    CHECK(dictionary.contains(title));
    if (dictionary.contains(title)) CHECK(dictionary.at(title) == fields);
  }
  for (const auto& [title, fields] : dictionary) {
    CAPTURE(title);
    CHECK(schemas.contains(title));
  }
}

TEST_CASE("every field of a schema says what it means", "[schemas]") {
  const auto check = [](const std::string& title, const Json& node) {
    if (!node.contains("properties")) return;
    for (const auto& [name, field] : node["properties"].items()) {
      CAPTURE(title, name);
      CHECK(field.value("description", "").size() > 1);
    }
  };
  for (const auto& [name, text] : schema_texts()) {
    const Json schema = Json::parse(text);
    CHECK(schema.contains("x-writer"));
    CHECK(schema.contains("x-reader"));
    check(std::string(name), schema);
    if (!schema.contains("definitions")) continue;
    for (const auto& [part, node] : schema["definitions"].items()) check(part, node);
  }
}

/// Fields that the schema knows at each place of a document, and those that are there. Places
/// differ by names, not by the indices of lists.
struct Seen {
  std::map<std::string, Names> known, present;
};

void walk(const Json& bundle, const Json& document, const Json& value,
          std::vector<std::string>& path, const std::string& place, Seen& seen) {
  if (value.is_object()) {
    for (const auto& field : expectation_at(bundle, document, path).known_fields)
      seen.known[place].insert(field);
  }
  if (!value.is_structured()) return;
  for (const auto& [key, child] : value.items()) {
    if (value.is_object() && seen.known.contains(place)) seen.present[place].insert(key);
    path.push_back(key);
    walk(bundle, document, child, path, place + (value.is_array() ? "[]" : "/" + key), seen);
    path.pop_back();
  }
}

Seen seen_in(const char* schema, const Json& document) {
  Seen seen;
  std::vector<std::string> path;
  walk(bundle_schema(schema), document, document, path, "", seen);
  return seen;
}

void compare(const char* schema, const Json& document) {
  const Seen seen = seen_in(schema, document);
  CHECK_FALSE(seen.known.empty());
  for (const auto& [place, known] : seen.known) {
    CAPTURE(schema, place);
    const auto present = seen.present.find(place);
    CHECK((present == seen.present.end() ? Names{} : present->second) == known);
  }
}

TEST_CASE("the JSON of C++ structs has exactly the fields of its schema", "[schemas]") {
  using test::json_of;
  compare("problem", json_of(test::filled_problem()));
  compare("problem_class", json_of(class_of(test::filled_problem())));
  compare("variant", json_of(test::filled_variant()));
  compare("device", json_of(test::filled_device()));
  compare("capability", json_of(Capability{"cuDNN", false, "9.14", "no device"}));
  compare("measurement", json_of(test::filled_measurement()));
  compare("run", json_of(test::filled_run()));
  compare("sweep", json_of(test::filled_spec()));
  compare("thresholds", json_of(test::filled_table()));
  for (const auto& request : test::filled_requests())
    compare("worker_request", Json::parse(worker::encode(request)));
  for (const auto& reply : test::filled_replies())
    compare("worker_reply", Json::parse(worker::encode(reply)));
}

}  // namespace
}  // namespace nsa
