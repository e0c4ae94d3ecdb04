// JSON as Python writes it.
#pragma once

#include <string>
#include <string_view>

#include "nsa/schemas/json.hpp"

namespace nsa::doctor {

/// parse_json(), but NaN, Infinity and -Infinity are null: json.dumps writes them, JSON does not
/// know them.
Json parse_python_json(std::string_view text, const std::string& name);

}  // namespace nsa::doctor
