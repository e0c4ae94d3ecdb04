// File systems that have no shared memory maps: some network and container file systems.
#include <sqlite3.h>
#include <SQLiteCpp/SQLiteCpp.h>

#include "catch.hpp"
#include "file/connection.hpp"
#include "support.hpp"

using namespace nsa;
using nsa::store::OpenOptions;
using nsa::store::Store;

namespace {

int refuse_map(sqlite3_file*, int, int, int, void volatile** page) {
  *page = nullptr;
  return SQLITE_IOERR_SHMMAP;
}

/// The default file system layer, except that mapping the WAL index fails as it does there.
int open_without_maps(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out) {
  sqlite3_vfs* base = sqlite3_vfs_find("unix");
  const int status = base->xOpen(base, name, file, flags, out);
  if (status == SQLITE_OK && (flags & SQLITE_OPEN_MAIN_DB) != 0) {
    static sqlite3_io_methods methods;  // all main files of that layer share these
    methods = *file->pMethods;
    methods.xShmMap = refuse_map;
    file->pMethods = &methods;
  }
  return status;
}

const char* layer_without_maps() {
  static sqlite3_vfs layer = [] {
    sqlite3_vfs copy = *sqlite3_vfs_find("unix");
    copy.zName = "nsa-test-no-maps";
    copy.pNext = nullptr;
    copy.xOpen = open_without_maps;
    return copy;
  }();
  sqlite3_vfs_register(&layer, 0);
  return layer.zName;
}

void check_works(const std::string& path, const OpenOptions& options, std::int64_t rows_before) {
  {
    Store store = Store::open(path, options);
    CHECK(store.info().journal_mode == "delete");
    REQUIRE(store.notes().size() == 1);
    CHECK(store.notes()[0].find("delete journal instead of WAL") != std::string::npos);
    store::RunRequest request = test::some_request();
    request.always_new = true;
    const auto run = store.open_run(request);
    for (int i = 0; i < 5; ++i) store.add(test::some_measurement(run.run().id, i));
    CHECK(store.verify().empty());
  }
  CHECK(Store::open_existing(path, options).info().measurements == rows_before + 5);
}

}  // namespace

TEST_CASE("where mapping shared memory fails, a new database uses a DELETE journal", "[store]") {
  const test::TempFolder folder;
  check_works(folder.file("a.sqlite"), {.busy_timeout_s = 5, .vfs = layer_without_maps()}, 0);
}

TEST_CASE("where the layer knows no shared memory, a new database uses a DELETE journal",
          "[store]") {
  const test::TempFolder folder;
  check_works(folder.file("a.sqlite"), {.busy_timeout_s = 5, .vfs = "unix-dotfile"}, 0);
}

TEST_CASE("a WAL database that was copied to such a file system is converted", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  {
    Store store = Store::open(path);
    const auto run = store.open_run(test::some_request());
    store.add(test::some_measurement(run.run().id, 1));
    REQUIRE(store.info().journal_mode == "wal");
  }
  const OpenOptions options{.busy_timeout_s = 5, .vfs = layer_without_maps()};
  SECTION("by reading it") { CHECK(Store::open_existing(path, options).info().measurements == 1); }
  SECTION("by writing to it") { check_works(path, options, 1); }
}

TEST_CASE("commits are flushed to disk with a DELETE journal, not with WAL", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  { Store::open(path); }
  const auto synchronous = [&] {
    store::Connection connection(path, store::Access::read_write, {});
    connection.set_synchronous();
    return connection.db().execAndGet("PRAGMA synchronous").getInt();
  };
  constexpr int kNormal = 1, kFull = 2;
  CHECK(synchronous() == kNormal);
  SQLite::Database(path, SQLite::OPEN_READWRITE).exec("PRAGMA journal_mode = DELETE");
  CHECK(synchronous() == kFull);
}
