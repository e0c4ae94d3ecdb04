// libFuzzer: any bytes are a results database, of which everything can be read, or an error of
// ours, on a disk that is well or fails at one call of SQLite's. The store looks at the file
// itself, too, so it lies in memory as a file: /dev/shm.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>

#include "fault_vfs.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/store/store.hpp"

namespace {

using Reading = void (*)(const nsa::store::Store&);

/// All that is read of a database. An input is read in one of these ways: most of a run is SQLite
/// reading the schema and preparing statements, and a run of all of them takes ten times as long.
constexpr std::array<Reading, 10> kReadings{
    [](const nsa::store::Store& store) { store.info(); },
    [](const nsa::store::Store& store) { store.verify(); },
    [](const nsa::store::Store& store) {
      for (const nsa::Run& run : store.runs()) store.libraries(run.id);
    },
    [](const nsa::store::Store& store) {
      for (const nsa::Run& run : store.runs())
        for (const nsa::Device& device : run.devices)
          store.for_each_series(run.id, device.uuid, [](const nsa::store::SeriesOfRun&) {});
    },
    [](const nsa::store::Store& store) {
      store.for_each_measurement({.with_samples = true}, [](const nsa::Measurement&) {});
    },
    [](const nsa::store::Store& store) {
      store.executors({});
      store.labels();
    },
    [](const nsa::store::Store& store) { store.telemetry({}); },
    [](const nsa::store::Store& store) { store.launch_traces({}); },
    [](const nsa::store::Store& store) { store.launch_counters({}); },
    [](const nsa::store::Store& store) { store.agreements({}); },
};

/// By all bytes of the input, so that what is found in one way is tried in the others, too.
Reading reading_of(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  return kReadings[std::hash<std::string_view>{}(bytes) % kReadings.size()];
}

/// A file of this process that goes with it, and what SQLite puts beside it.
class File {
 public:
  File() : path_("/dev/shm/nsatune_fuzz_" + std::to_string(getpid()) + ".sqlite") {}
  ~File() { remove_all(); }
  const std::string& put(const std::uint8_t* data, std::size_t size) const {
    remove_all();
    const int file = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (file < 0 || write(file, data, size) != static_cast<ssize_t>(size)) std::abort();
    close(file);
    return path_;
  }

 private:
  void remove_all() const {
    for (const char* end : {"", "-wal", "-shm", "-journal", "-lock"}) unlink((path_ + end).c_str());
  }
  std::string path_;
};

constexpr const char* kVfs = "nsatune_fuzz";

/// Two bytes behind whole sectors say which call fails and how; they are taken off the file.
void take_fault(nsa::test::FaultVfs& disk, const std::uint8_t* data, std::size_t& size) {
  constexpr std::size_t kSector = 512, kOrder = 2;
  disk.heal();
  if (size % kSector != kOrder) return;
  size -= kOrder;
  constexpr std::array kFaults{nsa::test::Fault::fail, nsa::test::Fault::tear,
                               nsa::test::Fault::full};
  disk.arm(kFaults[data[size] % kFaults.size()], data[size + 1]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const File file;
  // Without its statistics, SQLite takes no lock for each allocation.
  static const bool configured = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK;
  if (!configured) std::abort();
  static nsa::test::FaultVfs disk(kVfs);
  const Reading read = reading_of(data, size);
  take_fault(disk, data, size);
  try {
    read(
        nsa::store::Store::open_existing(file.put(data, size), {.busy_timeout_s = 0, .vfs = kVfs}));
  } catch (const nsa::InputError&) {
  } catch (const nsa::EnvironmentError&) {
  }
  return 0;
}
