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

/// A run of a board with what each variant of attend_selected took at three lengths.
void add_rows(store::Store& db, const std::string& board,
              const std::vector<std::pair<const char*, std::int64_t>>& times) {
  store::RunRequest request = some_request();
  request.devices[0].uuid = board;
  request.always_new = true;
  const store::OwnedRun owned = db.open_run(request);
  std::int64_t i = 0;
  for (const std::int64_t length : {512, 1024, 2048}) {
    for (std::int64_t visit = 0; visit < 8; ++visit) {
      for (const auto& [name, ns] : times) {
        Measurement row = some_measurement(owned.run().id, ++i);
        row.placement[0].device_uuid = board;
        row.problem.seq_lens = {length};
        row.variant = {{"attend_selected"}, name, {}};
        row.process = visit / 4;
        row.round = visit % 4;
        row.pair_id = "contest_" + std::to_string(length);
        const std::int64_t jitter = 1 + i % 3;
        row.samples = {{100, ns + jitter, ns + 100, {}}};
        row.samples_n = 1;
        db.add(row);
      }
    }
  }
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

TEST_CASE("a file says what varies between boards, and tune and explain say it aloud", "[cli]") {
  const Folder folder;
  {
    store::Store db = store::Store::open(folder.file("results.sqlite"));
    for (const char* board : {"board-1", "board-2", "board-3"}) {
      const bool other = std::string_view(board) == "board-3";
      add_rows(db, board, {{"masked", other ? 2000 : 1000}, {"kv_expanded", 1200}});
    }
  }
  const Result tuned = nsatune(folder, "tune -o table.json");
  INFO(tuned.err << tuned.out);
  CHECK(tuned.out.find("; boards disagree on 1 of 1 range\n") != std::string::npos);
  const Json written = Json::parse(nsatune(folder, "tune -o table.json --json").out);
  CHECK_NOTHROW(validate_json(written, "tune_result", "tune"));
  CHECK(written["written"][0]["compared"] == 1);
  CHECK(written["written"][0]["disputed"] == 1);
  const Json table = Json::parse(std::ifstream(folder.file("table.json")));
  const Json& boards = table["classes"][0]["decisions"][0]["ranges"][0]["evidence"]["boards"];
  CHECK(boards["boards"] == 3);
  CHECK(boards["dissenting"].size() == 1);
  CHECK(boards["dissenting"][0]["board"] == "board-3");
  const Result explained = nsatune(folder, "explain table.json --seq-len 1024");
  INFO(explained.err << explained.out);
  const std::string line =
      "boards: attend_selected: 3 measured it, each by itself 0.833x to "
      "1.66x of kv_expanded; board-3 would run kv_expanded at 3 lengths, and loses "
      "66.5 % there without";
  CHECK(explained.out.find(line) != std::string::npos);
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

TEST_CASE("an output that cannot be is refused before anything is decided, - is stdout", "[cli]") {
  const Folder folder;
  {
    store::Store db = store::Store::open(folder.file("results.sqlite"));
    add_rows(db, "board-1", {{"masked", 1000}, {"kv_expanded", 1200}});
  }
  for (const char* out : {"no/such/t.json", "results.sqlite"}) {
    const Result refused = nsatune(folder, std::string("tune -o ") + out);
    INFO(refused.err);
    CHECK(refused.exit_code == 2);
    CHECK(refused.err.starts_with(std::string("nsatune: ") + out + ": "));
  }
  const Result printed = nsatune(folder, "tune -o -");
  INFO(printed.err);
  REQUIRE(printed.exit_code == 0);
  folder.write("t.json", printed.out);
  CHECK(load_thresholds(folder.file("t.json")).classes.size() == 1);
  CHECK_FALSE(std::filesystem::exists(folder.file("-")));
}

TEST_CASE("a device without rows is answered with those that have some", "[cli]") {
  const Folder folder;
  {
    store::Store db = store::Store::open(folder.file("results.sqlite"));
    add_run(db, "board-1", "1.0");
  }
  const Result result = nsatune(folder, "tune -o t.json --device cuda:7");
  CHECK(result.exit_code == 2);
  CHECK(result.err.find("no measurements of cuda:7; there are some of ") != std::string::npos);
  CHECK(result.err.find(" (Some CPU)") != std::string::npos);
}

TEST_CASE("a document of another kind is named where a thresholds file or a spec is expected",
          "[cli]") {
  const Folder folder;
  folder.write("spec.json", nsatune(folder, "sweep quick --print-spec").out);
  { store::Store::open(folder.file("results.sqlite")); }
  const std::string shipped = " '" NSA_SOURCE_DIR "/kernels/tuned/nvidia_h200.json'";
  const auto refused = [&](const std::string& command, const std::string& what) {
    const Result result = nsatune(folder, command);
    INFO(command << ": " << result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.err.find(what) != std::string::npos);
  };
  refused("sweep" + shipped, "is a thresholds file; a sweep spec is expected");
  const std::string no_table =
      "spec.json: is a sweep spec, for nsatune sweep; a thresholds file is ";
  refused("verify spec.json", no_table);
  refused("explain spec.json", no_table);
  refused("tune --from spec.json --emit env --for nsa-vibe -o x.env", no_table);
  refused("export header --thresholds spec.json", no_table);
  refused("verify results.sqlite", "results.sqlite: is a SQLite database");
}

}  // namespace nsa::test
