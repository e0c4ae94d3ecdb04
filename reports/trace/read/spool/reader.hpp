#pragma once

#include <string>
#include <string_view>

#include "nsa/trace/model.hpp"

namespace nsa::trace {

/// What a tracer appended while its program ran. One that ends in the middle of a record was
/// killed: what is whole is read, and the trace says so. InputError for anything else that is
/// wrong.
Trace read_spool(std::string_view bytes, const std::string& where);

}  // namespace nsa::trace
