// Validation against one definition of a schema, for documents whose kind is known before.
#pragma once

#include <string>
#include <string_view>

#include "nsa/schemas/json.hpp"

namespace nsa {

/// As validate_json(), against "NAME#PART", which costs less than a schema that looks for the part
/// itself.
void validate_part(const Json& document, std::string_view schema, std::string_view part,
                   const std::string& where);

}  // namespace nsa
