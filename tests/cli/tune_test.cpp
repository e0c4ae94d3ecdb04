// Which runs of a database `tune` decides from.
#include "../store/support.hpp"
#include "catch.hpp"
#include "program.hpp"

namespace nsa::test {
namespace {

/// A run of a board with one row; its id.
std::string add_run(store::Store& db, const std::string& uuid) {
  store::RunRequest request = some_request();
  request.devices[0].uuid = uuid;
  request.always_new = true;
  const store::OwnedRun owned = db.open_run(request);
  Measurement row = some_measurement(owned.run().id, 1);
  row.placement[0].device_uuid = uuid;
  db.add(row);
  return owned.run().id;
}

}  // namespace

TEST_CASE("of two boards of a model the newest run decides, and the other is named", "[cli]") {
  const Folder folder;
  std::string older, newer;
  {
    store::Store db = store::Store::open(folder.file("results.sqlite"));
    older = add_run(db, "board-1");
    newer = add_run(db, "board-2");
  }
  const std::string note =
      "Some CPU board-1: another board's run " + newer + " is newer; --run " + older;
  const Result by_model = nsatune(folder, "tune -o table.json");
  INFO(by_model.err);
  CHECK(by_model.err.find(note) != std::string::npos);
  CHECK(by_model.err.find("board-2") == std::string::npos);
  const Result by_run = nsatune(folder, "tune -o table.json --run " + older);
  CHECK(by_run.err.find("another board") == std::string::npos);
}

}  // namespace nsa::test
