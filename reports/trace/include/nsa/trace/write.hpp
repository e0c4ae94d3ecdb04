// Chrome trace JSON, as Perfetto, chrome://tracing and what reads PyTorch's traces understand it.
#pragma once

#include <string>

#include "nsa/trace/model.hpp"

namespace nsa::trace {

/// Writes `path` through a temporary file beside it; packed when the name ends in ".gz". The same
/// trace gives the same bytes. EnvironmentError when the disk does not take it.
void write_chrome_trace(const Trace& trace, const std::string& path);

}  // namespace nsa::trace
