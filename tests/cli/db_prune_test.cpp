// db prune as a user meets it: what the commands that go by medians say stays the same.
#include "../store/support.hpp"
#include "catch.hpp"
#include "program.hpp"

namespace nsa::test {
namespace {

void make_database(const Folder& folder) {
  store::Store store = store::Store::open(folder.file("results.sqlite"));
  store::RunRequest request = some_request();
  request.always_new = true;
  for (int run = 0; run < 2; ++run) {
    const auto owned = store.open_run(request);
    for (int i = 0; i < 5; ++i) store.add(some_measurement(owned.run().id, i));
    store.end_run(owned.run().id, RunState::complete);
  }
}

Json pruned(const Folder& folder, const std::string& flags) {
  return json_of(nsatune(folder, "db prune --json " + flags), "db_prune");
}

}  // namespace

TEST_CASE("db prune says what it would drop, drops it, and other commands say the same", "[cli]") {
  const Folder folder;
  make_database(folder);
  const auto said = [&] {
    std::string all;
    for (const char* command : {"check --json", "report results --json", "db info --json"})
      all += nsatune(folder, command).out;
    return all.substr(0, all.find("\"bytes\""));
  };
  const std::string before = said();
  const Json would = pruned(folder, "--before 2100-01-01 --dry-run");
  CHECK(would["samples"] == 30);
  CHECK(pruned(folder, "--keep-days 1")["samples"] == 0);
  const Json done = pruned(folder, "--before 2100-01-01");
  CHECK(done["samples"] == 30);
  CHECK(done["sample_bytes"] == would["sample_bytes"]);
  CHECK(pruned(folder, "--before 2100-01-01")["samples"] == 0);
  CHECK(said() == before);
  CHECK(nsatune(folder, "db verify").exit_code == 0);
  const auto rows = store::Store::open_existing(folder.file("results.sqlite")).measurements({});
  const Result samples = nsatune(folder, "db samples " + rows.at(0).id);
  CHECK(samples.exit_code == 2);
  CHECK(samples.err.find("pruned") != std::string::npos);
}

TEST_CASE("db prune refuses what says no day, and a file that a sweep writes", "[cli]") {
  const Folder folder;
  make_database(folder);
  for (const char* flags : {"", "--before soon", "--keep-days -1", "--keep-days x",
                            "--keep-days 1 --before 2026-01-01", "--keep-days 1 --db none.sqlite"})
    CHECK(nsatune(folder, std::string("db prune ") + flags).exit_code == 2);
  CHECK_FALSE(std::filesystem::exists(folder.file("none.sqlite")));
  store::Store store = store::Store::open(folder.file("results.sqlite"));
  const auto sweeping = store.open_run(some_request());
  const Result result = nsatune(folder, "db prune --before 2100-01-01");
  CHECK(result.exit_code == 4);
  CHECK(result.err.find("a sweep measures into it") != std::string::npos);
}

}  // namespace nsa::test
