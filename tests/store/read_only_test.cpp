// Files and folders that this user may not write. Root may write everything, so it becomes nobody.
#include <sys/stat.h>
#include <unistd.h>

#include "catch.hpp"
#include "nsa/schemas/error.hpp"
#include "support.hpp"

using namespace nsa;
using nsa::store::Store;

namespace {

constexpr uid_t kNobody = 65534;

/// 0 when `body` threw EnvironmentError with one line that begins with `path`, run as a plain user.
int refused_as_nobody(const std::string& path, const std::function<void()>& body) {
  return test::run_in_child([&] {
    if (geteuid() == 0 && setuid(kNobody) != 0) return 2;
    const std::string message = test::message_of<EnvironmentError>(body);
    return message.rfind(path, 0) == 0 && message.find('\n') == std::string::npos ? 0 : 1;
  });
}

void make_database(const std::string& path) {
  Store store = Store::open(path);
  const auto run = store.open_run(test::some_request());
  store.add(test::some_measurement(run.run().id, 1));
}

}  // namespace

TEST_CASE("a database in a folder that cannot be written is an environment error", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  REQUIRE(chmod(folder.path().c_str(), 0555) == 0);
  CHECK(refused_as_nobody(path, [&] { Store::open(path); }) == 0);
  CHECK(test::names_in(folder.path()).empty());
  chmod(folder.path().c_str(), 0755);
}

TEST_CASE("a read-only database is refused for writing and served for reading", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  make_database(path);
  const std::string before = test::bytes_of(path);
  REQUIRE(chmod(path.c_str(), 0444) == 0);
  REQUIRE(chmod(folder.path().c_str(), 0555) == 0);
  CHECK(refused_as_nobody(path, [&] { Store::open(path); }) == 0);
  CHECK(test::run_in_child([&] {
          if (geteuid() == 0 && setuid(kNobody) != 0) return 2;
          const Store store = Store::open_existing(path);
          return store.info().measurements == 1 && store.verify().empty() ? 0 : 1;
        }) == 0);
  CHECK(test::bytes_of(path) == before);
  chmod(folder.path().c_str(), 0755);
}
