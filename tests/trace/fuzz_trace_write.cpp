// libFuzzer: whatever trace can be read, can be written, and what was written is read again with as
// many operations, calls and ranges.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "nsa/schemas/error.hpp"
#include "nsa/trace/read.hpp"
#include "nsa/trace/write.hpp"

namespace {

/// One file for all runs, in memory; it goes with the process.
struct File {
  std::string path = "/dev/shm/fuzz_trace_write_" + std::to_string(getpid()) + ".json";
  ~File() { unlink(path.c_str()); }
};

nsa::trace::Trace read(std::string_view bytes) {
  return bytes.starts_with("NSASPOOL") ? nsa::trace::read_spool_trace(bytes, "fuzz")
                                       : nsa::trace::read_json_trace(bytes, "fuzz");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const File file;
  nsa::trace::Trace source;
  try {
    source = read({reinterpret_cast<const char*>(data), size});
  } catch (const nsa::InputError&) {
    return 0;
  }
  try {
    nsa::trace::write_chrome_trace(source, file.path);
  } catch (const nsa::InputError&) {  // its events are too far apart
    return 0;
  }
  const nsa::trace::Trace again = nsa::trace::read_trace(file.path);
  if (again.ops.size() != source.ops.size() || again.calls.size() != source.calls.size() ||
      again.ranges.size() != source.ranges.size())
    std::abort();
  return 0;
}
