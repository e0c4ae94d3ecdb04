// A problem as a flat list of texts, for formats that have parameters but no lists or objects.
#include <algorithm>
#include <charconv>

#include "formats/own.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::exchange {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;
constexpr std::string_view kUnknown = "unknown";

bool is_list(std::string_view key) { return key == "seq_lens" || key == "context_lens"; }
bool is_selection(std::string_view key) { return key == "pattern" || key == "overlap"; }
bool is_word(std::string_view key) {
  return key == "direction" || key == "phase" || key == "dtype" || key == "pattern";
}

std::string list_text(const Json& list) {
  std::string text;
  for (const Json& value : list) text += (text.empty() ? "" : "|") + value.dump();
  return text;
}

Json number(const std::string& text, const std::string& where) {
  Json value = Json::parse(text, nullptr, false);
  if (!value.is_number())
    throw InputError(where + ": '" + text.substr(0, 40) + "' is not a number");
  return value;
}

Json list_of(const std::string& text, const std::string& where) {
  Json list = Json::array();
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find('|', at);
    list.push_back(number(text.substr(at, end - at), where));
    if (end == std::string::npos) return list;
    at = end + 1;
  }
}

}  // namespace

Fields problem_fields(const Problem& problem) {
  Json document = problem;
  const Json selection = document["selection"];
  document.erase("selection");
  for (const char* key : {"model_dim", "layers", "vocab_size"}) {
    if (!document.contains(key)) document[key] = 0;
  }
  Fields fields;
  for (const auto& [key, value] : document.items()) {
    fields.emplace_back(key, is_list(key)        ? list_text(value)
                             : value.is_string() ? value.get<std::string>()
                                                 : value.dump());
  }
  fields.emplace_back("pattern", selection["pattern"].get<std::string>());
  fields.emplace_back("overlap", selection.contains("overlap") ? selection["overlap"].dump()
                                                               : std::string(kUnknown));
  return fields;
}

Problem problem_of_fields(const Fields& fields, const std::string& where) {
  Json document = Json::object();
  document["selection"] = Json::object();
  for (const auto& [key, text] : fields) {
    if (text == kUnknown && key == "overlap") continue;
    Json& parent = is_selection(key) ? document["selection"] : document;
    parent[key] = is_list(key)   ? list_of(text, where + ": " + key)
                  : is_word(key) ? Json(text)
                                 : number(text, where + ": " + key);
    // Zero means that the stage sees no model; the schema wants such a field left out.
    if (!is_word(key) && parent[key] == 0 &&
        (key == "model_dim" || key == "layers" || key == "vocab_size"))
      parent.erase(key);
  }
  validate_json(document, "problem", where);
  Problem problem;
  from_json(document, problem);
  require_valid(problem, where);
  return problem;
}

}  // namespace nsa::exchange
