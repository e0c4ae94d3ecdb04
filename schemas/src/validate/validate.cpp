// Validation by valijson. The only translation unit that includes it: it takes
// 12 s to compile, and it is never built with sanitizers.
#include <map>
#include <memory>
#include <mutex>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "nsa/schemas/fields/json.hpp"
#include "schema_bundle.hpp"

namespace nsa {
namespace {

using Adapter = valijson::adapters::NlohmannJsonAdapter;

struct Compiled {
  Json bundle;
  valijson::Schema schema;
};

/// valijson reads nlohmann::json, whose objects are sorted. It also reads
/// integers as signed, so those that need the 64th bit are shown to it as the
/// largest signed one: the conversion to a struct checks them again.
nlohmann::json plain(const Json& j) {
  if (j.is_object()) {
    auto out = nlohmann::json::object();
    for (const auto& [key, value] : j.items()) out.emplace(key, plain(value));
    return out;
  }
  if (j.is_array()) {
    auto out = nlohmann::json::array();
    for (const auto& value : j) out.push_back(plain(value));
    return out;
  }
  if (j.is_string()) return j.get_ref<const std::string&>();
  if (j.is_boolean()) return j.get<bool>();
  if (j.is_number_float()) return j.get<double>();
  constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
  if (j.is_number_unsigned() && j.get<std::uint64_t>() > static_cast<std::uint64_t>(kLargest))
    return kLargest;
  if (j.is_number_integer()) return j.get<std::int64_t>();
  return nullptr;
}

const Compiled& compiled(std::string_view name) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Compiled>, std::less<>> cache;
  const std::lock_guard lock(mutex);
  auto at = cache.find(name);
  if (at == cache.end()) {
    auto entry = std::make_unique<Compiled>();
    entry->bundle = bundle_schema(name);
    const nlohmann::json document = plain(entry->bundle);
    valijson::SchemaParser(valijson::SchemaParser::kDraft7)
        .populateSchema(Adapter(document), entry->schema);
    at = cache.emplace(std::string(name), std::move(entry)).first;
  }
  return *at->second;
}

std::vector<std::string> path_of(const std::vector<std::string>& context) {
  std::vector<std::string> path;
  for (std::size_t i = 1; i < context.size(); ++i)  // context[0] is "<root>", the others "[step]"
    path.push_back(context[i].substr(1, context[i].size() - 2));
  return path;
}

const Json& value_at(const Json& document, const std::vector<std::string>& path) {
  const Json* value = &document;
  for (const auto& step : path)
    value = value->is_array() ? &value->at(std::stoul(step)) : &value->at(step);
  return *value;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// The name in single quotes that follows `lead` in valijson's text and ends it but for a dot.
std::string name_after(const std::string& text, std::string_view lead) {
  const std::size_t first = text.find(lead);
  const std::size_t last = text.rfind("'.");
  if (first == std::string::npos || last == std::string::npos) return {};
  const std::size_t start = first + lead.size();
  return start <= last ? text.substr(start, last - start) : std::string();
}

std::string explain(const Compiled& schema, const Json& document,
                    const valijson::ValidationResults::Error& error) {
  const auto path = path_of(error.context);
  const Expectation wanted = expectation_at(schema.bundle, document, path);
  const std::string& what = error.description;
  if (what.starts_with("Missing required property"))
    return "the field " + fields::shown(name_after(what, "property '")) + " is missing";
  if (what.starts_with("Object contains a property"))
    return "has the unknown field " + fields::shown(name_after(what, "constraints: '")) +
           (wanted.known_fields.empty() ? "" : "; the fields are " + joined(wanted.known_fields));
  return fields::shown_value(value_at(document, path)) + " is not valid; expected " + wanted.words;
}

}  // namespace

void validate_json(const Json& document, std::string_view schema, const std::string& where) {
  const Compiled& rules = compiled(schema);
  const nlohmann::json target = plain(document);
  // Without results valijson stops at the first violation; only then is it
  // asked for the reason.
  if (valijson::Validator().validate(rules.schema, Adapter(target), nullptr)) return;
  valijson::ValidationResults results;
  valijson::Validator().validate(rules.schema, Adapter(target), &results);
  valijson::ValidationResults::Error error;
  if (!results.popError(error)) throw InputError(where + ": does not match the schema");
  std::string pointer;
  for (const auto& step : path_of(error.context)) pointer += "/" + fields::pointer_token(step);
  throw InputError(where + ": " + (pointer.empty() ? "/" : pointer) + ": " +
                   explain(rules, document, error));
}

}  // namespace nsa
