// Files of another schema version are refused before anything else is said about them.
#pragma once

#include <string>

#include "nsa/schemas/json.hpp"

namespace nsa {

/// InputError "<where>: /schema_version: ..." when the document has no version, or none of
/// [oldest, newest]; `what_to_do` ends the line. A version that is no integer is left to the
/// schema.
void check_version(const Json& document, int oldest, int newest, const std::string& what_to_do,
                   const std::string& where);

}  // namespace nsa
