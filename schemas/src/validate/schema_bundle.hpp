// A schema with every schema that it refers to, as one document.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nsa/schemas/json.hpp"

namespace nsa {

/// {"$ref": "#/definitions/NAME", "definitions": {NAME: ..., others: ...}}
/// without references to other files. "NAME#PART" begins at one of its definitions. ContractError
/// for an unknown name.
Json bundle_schema(std::string_view name);

/// What the schema says of the place `path` in `document`: the names of the
/// fields that it knows there and, in words, what a value must be. Empty where
/// it says nothing.
struct Expectation {
  std::vector<std::string> known_fields;
  std::string words;  // "one of \"a\", \"b\"", "integer, at least 1"
};
Expectation expectation_at(const Json& bundle, const Json& document,
                           const std::vector<std::string>& path);

}  // namespace nsa
