// Which runs of a database `tune` decides from.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "../store/support.hpp"
#include "catch.hpp"
#include "program.hpp"

namespace nsa::test {
namespace {

/// A run of a board, of this driver, with one row; its id.
std::string add_run(store::Store& db, const std::string& uuid, const std::string& driver) {
  store::RunRequest request = some_request();
  request.devices[0].uuid = uuid;
  request.devices[0].driver = driver;
  request.always_new = true;
  const store::OwnedRun owned = db.open_run(request);
  Measurement row = some_measurement(owned.run().id, 1);
  row.placement[0].device_uuid = uuid;
  db.add(row);
  return owned.run().id;
}

}  // namespace

TEST_CASE("boards of a model are decided together, and what each loses by it is said", "[cli]") {
  const Folder folder;
  {
    store::Store db = store::Store::open(folder.file("results.sqlite"));
    add_run(db, "board-1", "1.0");
    add_run(db, "board-2", "1.0");
  }
  const Result together = nsatune(folder, "tune -o table.json");
  INFO(together.err);
  CHECK(together.err.find("board board-1: loses") != std::string::npos);
  CHECK(together.err.find("board board-2: loses") != std::string::npos);
  const Json table = Json::parse(std::ifstream(folder.file("table.json")));
  CHECK(table["run_ids"].size() == 2);
}

TEST_CASE("of two boards of a model under other conditions the newest run decides", "[cli]") {
  const Folder folder;
  std::string older, newer;
  {
    store::Store db = store::Store::open(folder.file("results.sqlite"));
    older = add_run(db, "board-1", "1.0");
    newer = add_run(db, "board-2", "2.0");
  }
  const std::string note = "Some CPU board-1: under other conditions than another board's run " +
                           newer + ", which is newer; --run " + older;
  const Result by_model = nsatune(folder, "tune -o table.json");
  INFO(by_model.err);
  CHECK(by_model.err.find(note) != std::string::npos);
  CHECK(by_model.err.find("board-2") == std::string::npos);
  const Result by_run = nsatune(folder, "tune -o table.json --run " + older);
  CHECK(by_run.err.find("another board") == std::string::npos);
}

TEST_CASE("a workload that is none is one line with its place", "[cli]") {
  const Folder folder;
  {
    store::Store db = store::Store::open(folder.file("results.sqlite"));
    add_run(db, "board-1", "1.0");
  }
  folder.write("lengths.csv", "tokens,weight\n2048,310\n\n# longer ones\n8192, 12 ,decode\n");
  CHECK(nsatune(folder, "tune -o table.json --workload lengths.csv").exit_code == 0);
  for (const char* bad : {"2048\n", "2048,x\n", "-1,2\n", "-1,2\n2048,1\n", "2048,1,train\n",
                          "a,b\n", "", "2048,0\n", "2048,1,prefill,more\n"}) {
    CAPTURE(bad);
    folder.write("bad.csv", bad);
    const Result refused = nsatune(folder, "tune -o other.json --workload bad.csv");
    CHECK(refused.exit_code == 2);
    CHECK(refused.err.rfind("nsatune: bad.csv", 0) == 0);
    CHECK(std::ranges::count(refused.err, '\n') == 1);
    CHECK_FALSE(std::filesystem::exists(folder.file("other.json")));
  }
}

}  // namespace nsa::test
