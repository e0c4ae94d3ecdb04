// Names of the lists of fields (nsa/schemas/fields) beside those of the JSON Schemas.
#pragma once

#include <set>
#include <string>

#include "catch.hpp"
#include "nsa/schemas/fields/description.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::test {

using Names = std::set<std::string>;

/// Names of the fields of T of one of these kinds.
template <class T>
Names field_names(std::initializer_list<fields::Kind> kinds) {
  Names names;
  const T object{};
  fields::each_field(object, [&](const auto& field, const auto&) {
    if (std::find(kinds.begin(), kinds.end(), field.kind) != kinds.end()) names.insert(field.name);
  });
  return names;
}

/// Names of all fields of T.
template <class T>
Names field_names() {
  using fields::Kind;
  return field_names<T>(
      {Kind::required, Kind::optional, Kind::unless_default, Kind::or_null, Kind::error});
}

/// What a schema says of an object at a JSON pointer: the names under "properties" or "required",
/// without those of `beside`.
inline Names schema_names(const char* schema, const std::string& pointer, const char* what,
                          const Names& beside = {}) {
  const Json node = Json::parse(schema_text(schema)).at(Json::json_pointer(pointer));
  Names names;
  const Json list = node.value(what, Json::array());
  for (const auto& [key, value] : list.items())
    names.insert(list.is_object() ? key : value.template get<std::string>());
  for (const std::string& name : beside) names.erase(name);
  return names;
}

}  // namespace nsa::test
