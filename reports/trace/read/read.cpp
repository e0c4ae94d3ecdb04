#include "nsa/trace/read.hpp"

#include <algorithm>

#include "byte_source.hpp"
#include "json_trace.hpp"
#include "nsa/schemas/trace_spool_reader.hpp"
#include "spool_reader.hpp"

namespace nsa::trace {
namespace {

/// A window that stays in the second-level cache; a small file needs no large one.
std::size_t window_for(std::string_view bytes) {
  return std::clamp(bytes.size() + 2, std::size_t{4096}, std::size_t{1} << 20);
}

}  // namespace

Trace read_trace(const std::string& path) {
  const MappedFile file(path);
  if (file.bytes().starts_with("SQLite format 3")) return read_nsys_trace(path);
  if (spool::is_spool(file.bytes())) return read_spool(file.bytes(), path);
  return read_json(*open_bytes(file.bytes(), path, true), path, window_for(file.bytes()));
}

Trace read_spool_trace(std::string_view bytes, const std::string& where) {
  return read_spool(bytes, where);
}

Trace read_json_trace(std::string_view bytes, const std::string& where) {
  return read_json(*open_bytes(bytes, where, false), where, window_for(bytes));
}

}  // namespace nsa::trace
