// libFuzzer: any bytes are an SQLite export of Nsight Systems or an InputError.
#include <sqlite3.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "nsa/schemas/error.hpp"
#include "nsa/trace/read.hpp"
#include "nsa/trace/summary.hpp"

namespace {

/// SQLite reads files only; this one lies in memory and goes with the process.
struct File {
  std::string path = "/dev/shm/fuzz_trace_nsys_XXXXXX";
  int handle = mkstemp(path.data());
  ~File() { unlink(path.c_str()); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const File file;
  // Without its statistics, SQLite takes no lock for each allocation.
  static const bool configured = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK;
  if (!configured) std::abort();
  if (ftruncate(file.handle, 0) != 0) std::abort();
  if (pwrite(file.handle, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
  try {
    nsa::trace::summarize(nsa::trace::read_nsys_trace(file.path));
  } catch (const nsa::InputError&) {
  }
  return 0;
}
