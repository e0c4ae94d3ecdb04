// The only file that includes simdjson, which takes seconds to compile.
#include "json_event.hpp"

#include <simdjson.h>

#include <cstring>

#include "decimal_time.hpp"

namespace nsa::trace {
namespace {

namespace ondemand = simdjson::ondemand;

struct BadValue {
  const char* at;
  const char* what;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

ondemand::field taken(simdjson::simdjson_result<ondemand::field> field) {
  ondemand::field inner;
  if (const simdjson::error_code error = std::move(field).get(inner))
    throw simdjson::simdjson_error(error);
  return inner;
}

/// A field name; one without escapes is not copied.
std::string_view key_of(ondemand::field& field) {
  const char* const raw = field.key().raw();
  const auto* const end = static_cast<const char*>(std::memchr(raw, '"', SIZE_MAX >> 1));
  const std::string_view key(raw, static_cast<std::size_t>(end - raw));
  if (key.find('\\') == key.npos) return key;
  return field.unescaped_key();
}

/// Checks a value of any kind, bad JSON being bad wherever it stands. Its token, or the bracket
/// that opens it.
std::string_view checked(ondemand::value value) {
  const std::string_view token = trimmed(value.raw_json_token());
  switch (token.front()) {
    case '{':
      for (auto field : value.get_object()) {
        ondemand::field inner = taken(field);
        key_of(inner);
        checked(inner.value());
      }
      return token.substr(0, 1);
    case '[':
      for (auto element : value.get_array()) checked(element.value());
      return token.substr(0, 1);
    case '"':
      if (token.find('\\') != token.npos) (void)std::string_view(value.get_string());
      return token;
    default:
      if (token != "true" && token != "false" && token != "null" && !is_json_number(token))
        throw BadValue{token.data(), "this is no JSON value (NaN and Infinity are none)"};
      return token;
  }
}

std::string_view text_of(ondemand::value value) {
  const std::string_view token = trimmed(value.raw_json_token());
  if (token.front() != '"') throw BadValue{token.data(), "expected a string"};
  if (token.find('\\') == token.npos) return token.substr(1, token.size() - 2);
  return value.get_string();
}

void read_argument(std::string_view key, ondemand::value value, JsonEvent& out) {
  const std::string_view token = checked(value);
  if (key == "correlation")
    out.correlation = token;
  else if (key == "stream")
    out.stream = token;
  else if (key == "device" || key == "Device Id")
    out.device = token;
  else if (key == "stage")
    out.stage = token;
  else if (key == "Bytes")
    out.bytes = token;
  else if (key == "Addr")
    out.address = token;
  else if (key == "Device Type")
    out.device_type = token;
  else if (key == "Total Allocated")
    out.total_allocated = token;
  else if (key == "Total Reserved")
    out.total_reserved = token;
}

void read_arguments(ondemand::value value, JsonEvent& out) {
  if (trimmed(value.raw_json_token()).front() != '{') {
    checked(value);
    return;
  }
  for (auto field : value.get_object()) {
    ondemand::field inner = taken(field);
    const std::string_view key = key_of(inner);
    read_argument(key, inner.value(), out);
  }
}

void read_field(std::string_view key, ondemand::value value, JsonEvent& out) {
  if (key == "ph")
    out.phase = text_of(value);
  else if (key == "cat")
    out.category = text_of(value);
  else if (key == "name")
    out.name = text_of(value);
  else if (key == "ts")
    out.time = checked(value);
  else if (key == "dur")
    out.duration = checked(value);
  else if (key == "pid")
    out.process = checked(value);
  else if (key == "tid")
    out.thread = checked(value);
  else if (key == "args")
    read_arguments(value, out);
  else
    checked(value);
}

JsonEvent event_of(ondemand::value value) {
  JsonEvent event;
  const std::string_view token = value.raw_json_token();
  event.at = token.data();
  if (token.front() != '{') throw BadValue{event.at, "expected an event, which is an object"};
  for (auto field : value.get_object()) {
    ondemand::field inner = taken(field);
    const std::string_view key = key_of(inner);
    read_field(key, inner.value(), event);
  }
  return event;
}

}  // namespace

struct JsonEventParser::State {
  ondemand::parser parser;
};

JsonEventParser::JsonEventParser() : state_(std::make_unique<State>()) {
  static_assert(kPadding >= simdjson::SIMDJSON_PADDING);
}
JsonEventParser::~JsonEventParser() = default;

template <class Visit>
void JsonEventParser::for_each(std::string_view array, const Fail& fail, Visit visit) {
  ondemand::document document;
  const simdjson::padded_string_view padded(array.data(), array.size(), array.size() + kPadding);
  const simdjson::error_code error = state_->parser.iterate(padded).get(document);
  if (error) fail(array.data(), simdjson::error_message(error));
  try {
    for (auto element : document.get_array()) visit(element.value());
    const char* rest = nullptr;
    if (!document.current_location().get(rest)) fail(rest, "brackets that do not match");
  } catch (const BadValue& bad) {
    fail(bad.at, bad.what);
  } catch (const simdjson::simdjson_error& e) {
    const char* at = array.data();
    if (document.current_location().get(at)) at = array.data();
    fail(at, e.what());
  }
}

void JsonEventParser::parse(std::string_view array, const Each& each, const Fail& fail) {
  for_each(array, fail, [&](ondemand::value value) { each(event_of(value)); });
}

void JsonEventParser::check(std::string_view array, const Fail& fail) {
  for_each(array, fail, [](ondemand::value value) { checked(value); });
}

}  // namespace nsa::trace
