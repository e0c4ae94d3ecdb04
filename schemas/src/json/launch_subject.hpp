// JSON of what a launch belongs to: the first fields of each row about a launch.
#pragma once

#include "nsa/schemas/json.hpp"

namespace nsa {

/// Makes `j` an object that begins with these fields.
void put_subject(Json& j, const LaunchSubject& v);
void require_subject(const Json& j, LaunchSubject& v);

}  // namespace nsa
