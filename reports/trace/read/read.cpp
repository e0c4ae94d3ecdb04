#include "nsa/trace/read.hpp"

#include <algorithm>
#include <array>

#include "byte_source.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/trace_spool_reader.hpp"
#include "read/json/trace.hpp"
#include "read/spool/reader.hpp"

namespace nsa::trace {
namespace {

/// A window that stays in the second-level cache; a small file needs no large one.
std::size_t window_for(std::string_view bytes) {
  return std::clamp(bytes.size() + 2, std::size_t{4096}, std::size_t{1} << 20);
}

/// What else people have at hand, by how it begins, and what to do with it.
void refuse_other_formats(std::string_view bytes, const std::string& path) {
  using namespace std::string_view_literals;
  struct Format {
    std::string_view begin, what;
  };
  static constexpr std::array kFormats{
      Format{"PK\x03\x04"sv, "a zip archive; unpack it first"},
      Format{"\x28\xb5\x2f\xfd"sv, "packed with zstd; unpack it first (zstd -d)"},
      Format{"\xfd\x37zXZ\0"sv, "packed with xz; unpack it first (xz -d)"},
      Format{"BZh"sv, "packed with bzip2; unpack it first (bzip2 -d)"},
      Format{"version https://git-lfs"sv, "a pointer of Git LFS; fetch the file (git lfs pull)"},
  };
  for (const Format& format : kFormats)
    if (bytes.starts_with(format.begin))
      throw InputError(path + ": byte 0: this is " + std::string(format.what));
  if (path.ends_with(".nsys-rep") || path.ends_with(".qdrep"))
    throw InputError(path +
                     ": byte 0: a report of Nsight Systems; export it first (nsys export "
                     "--type sqlite)");
  if (path.ends_with(".pftrace") || path.ends_with(".perfetto-trace"))
    throw InputError(path +
                     ": byte 0: a trace of Perfetto in its own format; this reads JSON "
                     "(traceconv json)");
}

}  // namespace

Trace read_trace(const std::string& path) {
  const MappedFile file(path);
  if (file.bytes().starts_with("SQLite format 3")) {
    if (file.piped()) throw InputError(path + ": a database cannot be read from a pipe; name it");
    return read_nsys_trace(path);
  }
  if (spool::is_spool(file.bytes())) return read_spool(file.bytes(), path);
  refuse_other_formats(file.bytes(), path);
  return read_json(*open_bytes(file.bytes(), path, !file.piped()), path, window_for(file.bytes()));
}

Trace read_spool_trace(std::string_view bytes, const std::string& where) {
  return read_spool(bytes, where);
}

Trace read_json_trace(std::string_view bytes, const std::string& where) {
  return read_json(*open_bytes(bytes, where, false), where, window_for(bytes));
}

}  // namespace nsa::trace
