// libFuzzer: any bytes are a results database, of which everything can be read, or an error of
// ours, on a disk that is well or fails at one call of SQLite's. The store looks at the file
// itself, too, so it lies in memory as a file: /dev/shm.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "fault_vfs.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/store/store.hpp"

namespace {

void read_everything(const nsa::store::Store& store) {
  store.info();
  store.verify();
  for (const nsa::Run& run : store.runs()) {
    store.libraries(run.id);
    for (const nsa::Device& device : run.devices)
      store.for_each_series(run.id, device.uuid, [](const nsa::store::SeriesOfRun&) {});
  }
  store.for_each_measurement({.with_samples = true}, [](const nsa::Measurement&) {});
  store.executors({});
  store.labels();
  store.telemetry({});
  store.launch_traces({});
  store.launch_counters({});
  store.agreements({});
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
  static nsa::test::FaultVfs disk(kVfs);
  take_fault(disk, data, size);
  try {
    read_everything(
        nsa::store::Store::open_existing(file.put(data, size), {.busy_timeout_s = 0, .vfs = kVfs}));
  } catch (const nsa::InputError&) {
  } catch (const nsa::EnvironmentError&) {
  }
  return 0;
}
