// Messages of the worker protocol, requests and replies alike: the word under "type", then fields.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "nsa/schemas/fields/json.hpp"
#include "nsa/schemas/fields/worker.hpp"

namespace nsa::worker {

/// One line.
template <class... Messages>
std::string encode_message(const std::variant<Messages...>& message) {
  const auto line = []<class Message>(const Message& v) {
    Json j = Json::object();
    j["type"] = fields::kType<Message>;
    j.update(fields::object_of(v));
    return j.dump();
  };
  return std::visit(line, message);
}

/// Into the message whose word is under "type". A problem that breaks a constraint never reaches
/// the code that would divide by it.
template <class Message>
Message message_of(const Json& j) {
  Message v;
  fields::get(j, v);
  if constexpr (requires { v.problem; }) {
    if (const auto violation = find_violation(v.problem)) throw InputError("/problem" + *violation);
  }
  return v;
}

/// `what` ends the line for an unknown word: "request".
template <class... Messages>
void decode_message(const Json& j, const std::string& what, std::variant<Messages...>& out) {
  std::string type;
  fields::require(j, "type", type);
  const bool known =
      ((type == fields::kType<Messages> && (out = message_of<Messages>(j), true)) || ...);
  if (!known) throw fields::FieldError("/type", fields::shown(type) + " is no " + what);
}

/// By the schema of its type ("NAME#PART", as bundle_schema() takes it), which costs less than one
/// that looks for the type itself; where that is not known, by that of all.
template <class... Messages>
void validate_message(const Json& j, const std::string& schema, const std::string& where,
                      const std::variant<Messages...>*) {
  const auto type = j.is_object() ? j.find("type") : j.end();
  const auto is = [&](const char* word) {
    return type != j.end() && type->is_string() &&
           type->template get_ref<const std::string&>() == word;
  };
  if (!((is(fields::kType<Messages>) &&
         (validate_json(j, schema + "#" + fields::kType<Messages>, where), true)) ||
        ...))
    validate_json(j, schema, where);
}

/// A line by its schema; `prepare` makes what is decoded of what was validated. `what`: "request".
template <class Any, class Prepare>
Any decode_line(std::string_view line, const std::string& what, Prepare prepare) {
  const std::string where = "worker " + what;
  Json j = parse_json(line, where);
  validate_message(j, "worker_" + what, where, static_cast<const Any*>(nullptr));
  try {
    Any message;
    decode_message(prepare(std::move(j)), what, message);
    return message;
  } catch (const InputError& error) {
    throw InputError(where + ": " + error.what());
  }
}

}  // namespace nsa::worker
