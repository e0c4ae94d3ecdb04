#include <csignal>
#include <cstring>

#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include "catch.hpp"
#include "nsa/schemas/error.hpp"
#include "support.hpp"

using namespace nsa;
using nsa::store::Store;

namespace {

/// Writes rows until the disk refuses; returns how many were stored, or -1 when it never did.
/// Exits tell the parent: the error must be ours, name the path and be one line.
std::int64_t fill(const std::string& path) {
  Store store = Store::open(path);
  const auto run = store.open_run(test::some_request());
  for (int i = 0; i < 20000; ++i) {
    try {
      store.add(test::some_measurement(run.run().id, i));
    } catch (const EnvironmentError& error) {
      const std::string text = error.what();
      const bool good = text.rfind(path + ": ", 0) == 0 && text.find('\n') == std::string::npos;
      return good ? i : -1;
    }
  }
  return -1;
}

/// A file system of one megabyte on a folder, as long as it lives; needs root.
class SmallDisk {
 public:
  explicit SmallDisk(const std::filesystem::path& folder)
      : folder_(folder), mounted_(mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=1m") == 0) {}
  ~SmallDisk() {
    if (mounted_) umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }

 private:
  std::filesystem::path folder_;
  bool mounted_;
};

void check_kept(const std::string& path, std::int64_t stored) {
  Store store = Store::open_existing(path);
  CHECK(store.info().measurements == stored);
  CHECK(store.verify().empty());
}

}  // namespace

TEST_CASE("a file size limit is an environment error, and what was stored is kept", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  int result[2];
  REQUIRE(pipe(result) == 0);
  const int status = test::run_in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{600 * 1024, 600 * 1024};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 3;
    const std::int64_t stored = fill(path);
    return write(result[1], &stored, sizeof stored) == sizeof stored ? 0 : 4;
  });
  REQUIRE(status == 0);
  std::int64_t stored = 0;
  REQUIRE(read(result[0], &stored, sizeof stored) == sizeof stored);
  REQUIRE(stored > 0);
  check_kept(path, stored);
}

TEST_CASE("a full disk is an environment error, and what was stored is kept", "[store]") {
  const test::TempFolder folder;
  const SmallDisk disk(folder.path());
  if (!disk.mounted()) {
    WARN("skipped: a small tmpfs could not be mounted: " << std::strerror(errno));
    return;
  }
  const std::string path = folder.file("a.sqlite");
  const std::int64_t stored = fill(path);
  CHECK(stored > 0);
  check_kept(path, stored);
  const std::string second = folder.file("b.sqlite");
  CHECK(test::message_of<EnvironmentError>([&] { Store::open(second); }).rfind(second, 0) == 0);
}
