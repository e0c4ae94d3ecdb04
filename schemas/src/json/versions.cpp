#include "versions.hpp"

#include "nsa/schemas/error.hpp"

namespace nsa {

void check_version(const Json& document, int oldest, int newest, const std::string& what_to_do,
                   const std::string& where) {
  if (!document.is_object()) return;
  const auto at = document.find("schema_version");
  if (at == document.end())
    throw InputError(where + ": /schema_version: is missing, so this is not a file of nsatune; " +
                     what_to_do);
  if (!at->is_number_integer() || (*at >= oldest && *at <= newest)) return;
  throw InputError(where + ": /schema_version: is " + at->dump() + ", this program reads " +
                   (oldest == newest ? "" : std::to_string(oldest) + " to ") +
                   std::to_string(newest) + "; " + what_to_do);
}

}  // namespace nsa
