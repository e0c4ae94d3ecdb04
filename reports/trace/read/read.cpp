#include "nsa/trace/read.hpp"

#include <algorithm>

#include "byte_source.hpp"
#include "json_trace.hpp"

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
  return read_json(*open_bytes(file.bytes(), path, true), path, window_for(file.bytes()));
}

Trace read_json_trace(std::string_view bytes, const std::string& where) {
  return read_json(*open_bytes(bytes, where, false), where, window_for(bytes));
}

}  // namespace nsa::trace
