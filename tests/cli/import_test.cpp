// Results out of one database and into another, as a user moves them.
#include <cstdlib>

#include "../store/support.hpp"
#include "catch.hpp"
#include "program.hpp"

namespace nsa::test {
namespace {

/// A database with a run of a few rows.
void fill(const Folder& folder) {
  store::Store db = store::Store::open(folder.file("results.sqlite"));
  store::RunRequest request = some_request();
  request.always_new = true;
  const store::OwnedRun owned = db.open_run(request);
  for (std::int64_t i = 0; i < 4; ++i) db.add(some_measurement(owned.run().id, i));
}

}  // namespace

TEST_CASE("what is exported can be imported elsewhere, once", "[cli]") {
  const Folder folder;
  fill(folder);
  for (const std::string format :
       {"csv", "json", "kernel_tuner", "t4", "nvbench", "google_benchmark"}) {
    CAPTURE(format);
    REQUIRE(nsatune(folder, "export " + format + " -o " + format + ".json").exit_code == 0);
    const std::string import =
        "import " + format + " " + format + ".json --db " + format + ".sqlite --json";
    const Json first = json_of(nsatune(folder, import), "import_result");
    CHECK(first["rows_added"] == 4);
    CHECK(first["runs_added"] == 1);
    const Json again = json_of(nsatune(folder, import), "import_result");
    CHECK(again["rows_added"] == 0);
    CHECK(again["rows_known"] == 4);
  }
}

TEST_CASE("what was exported and packed is imported as it is", "[cli]") {
  const Folder folder;
  fill(folder);
  REQUIRE(nsatune(folder, "export csv -o rows.csv").exit_code == 0);
  REQUIRE(std::system(("gzip " + folder.file("rows.csv")).c_str()) == 0);
  const std::string import = "import csv rows.csv.gz --db there.sqlite --json";
  CHECK(json_of(nsatune(folder, import), "import_result")["rows_added"] == 4);
  CHECK(nsatune(folder, "import json rows.csv.gz --db there.sqlite").exit_code == 2);
}

TEST_CASE("what is imported elsewhere is the run that it was", "[cli]") {
  const Folder folder;
  fill(folder);
  REQUIRE(nsatune(folder, "export t4 -o a.json").exit_code == 0);
  REQUIRE(nsatune(folder, "import t4 a.json --db there.sqlite").exit_code == 0);
  const auto exported = [&](const std::string& db) {
    const Json document = json_of(nsatune(folder, "export json --db " + db), "export_results");
    REQUIRE(document["runs"].size() == 1);
    CHECK(document["runs"][0]["environment"].size() == 2);
    CHECK(document["runs"][0]["devices"].size() == 1);
    return document["runs"];
  };
  CHECK(exported("results.sqlite") == exported("there.sqlite"));
  const std::string csv = nsatune(folder, "export").out;
  CHECK(csv.find(",device,run_started_at,build_id,environment_hash\n") != std::string::npos);
  CHECK(csv.find(",Some CPU,") != std::string::npos);
}

TEST_CASE("tune chooses no step with forced gates of an imported file", "[cli]") {
  const Folder folder;
  folder.write("decode.csv", "S,ms_total,ms_cmp,ms_sel,ms_win\n64,2.5,0.5,0.7,0.2\n96,3,1,2,1\n");
  REQUIRE(nsatune(folder, "import nsa_vibe decode.csv").exit_code == 0);
  const Result tuned = nsatune(folder, "tune --unverified --executor nsa-vibe -o table.json");
  INFO(tuned.err);
  REQUIRE(tuned.exit_code == 0);
  const ThresholdTable table = load_thresholds(folder.file("table.json"));
  REQUIRE(table.classes.size() == 1);
  for (const ThresholdRange& range : table.classes[0].decisions.at(0).ranges)
    CHECK(to_string(range.variant) == "attention/decode");
}

TEST_CASE("the users' own results of FA-2 set their program", "[cli]") {
  const Folder folder;
  std::string log = "# Sliding window benchmark (w=512)\n# Device: cuda\n";
  for (const char* s : {"128", "256", "512"})
    log += "S=" + std::string(s) + " w=512 sliding masked 1.00 ms  fa2 60.00 ms  speedup x0.02\n";
  folder.write("fa2_win.txt", log);
  REQUIRE(nsatune(folder, "import nsa_vibe fa2_win.txt --device 'NVIDIA A100'").exit_code == 0);
  const std::string theirs = "tune --unverified --executor nsa-vibe ";
  const std::string emit = "--emit env --for nsa-vibe --dtype fp32 ";
  const Result emitted = nsatune(folder, theirs + emit + "-o a.env");
  INFO(emitted.err);
  REQUIRE(emitted.exit_code == 0);
  CHECK(emitted.out.find("attend_window      sdpa") != std::string::npos);
  CHECK(read_text_file(folder.file("a.env")).find("NSA_FA2_MIN_LEN_WIN=-1\n") != std::string::npos);

  REQUIRE(nsatune(folder, theirs + "-o table.json").exit_code == 0);
  const ThresholdTable table = load_thresholds(folder.file("table.json"));
  REQUIRE(table.classes.size() == 1);
  CHECK(table.classes[0].flat.fa2_min_len_win == FlatValue::never());
  const Result from_file = nsatune(folder, "tune --from table.json " + emit + "-o b.env");
  INFO(from_file.err);
  REQUIRE(from_file.exit_code == 0);
  CHECK(from_file.out.find("attend_window      sdpa") != std::string::npos);
  CHECK(read_text_file(folder.file("b.env")).find("NSA_FA2_MIN_LEN_WIN=-1\n") != std::string::npos);
}

TEST_CASE("a file that was exported from a database adds nothing to it", "[cli]") {
  const Folder folder;
  fill(folder);
  REQUIRE(nsatune(folder, "export nvbench -o a.json").exit_code == 0);
  const Json result = json_of(nsatune(folder, "import nvbench a.json --json"), "import_result");
  CHECK(result["rows_added"] == 0);
  CHECK(result["rows_known"] == 4);
}

TEST_CASE("one bad file among several adds nothing at all", "[cli]") {
  const Folder folder;
  fill(folder);
  REQUIRE(nsatune(folder, "export t4 -o a.json").exit_code == 0);
  folder.write("b.json", read_text_file(folder.file("a.json")).substr(0, 400));
  const Result r = nsatune(folder, "import t4 a.json b.json --db new.sqlite");
  CHECK(r.exit_code == 2);
  CHECK(r.err.find("b.json") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder.file("new.sqlite")));
}

TEST_CASE("a file whose name is not UTF-8 is read and written as any other", "[cli]") {
  const Folder folder;
  fill(folder);
  for (const std::string format : {"csv", "t4", "nvbench"}) {
    CAPTURE(format);
    const std::string file = "\"$(printf '" + format + "\\377.json')\"";
    REQUIRE(nsatune(folder, "export " + format + " -o " + file).exit_code == 0);
    const Result result =
        nsatune(folder, "import " + format + " " + file + " --db " + format + ".sqlite --json");
    INFO(result.err);
    CHECK(json_of(result, "import_result")["rows_added"] == 4);
    CHECK(nsatune(folder, "db verify --db " + format + ".sqlite").exit_code == 0);
  }
}

TEST_CASE("a CSV that was cut within a row adds nothing", "[cli]") {
  const Folder folder;
  fill(folder);
  REQUIRE(nsatune(folder, "export csv -o all.csv").exit_code == 0);
  const std::string text = read_text_file(folder.file("all.csv"));
  folder.write("cut.csv", text.substr(0, text.size() - 120));
  const Result r = nsatune(folder, "import csv cut.csv --db new.sqlite");
  CHECK(r.exit_code == 2);
  CHECK(r.err.find("row 4 has ") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder.file("new.sqlite")));
}

TEST_CASE("a sidecar that is missing is named", "[cli]") {
  const Folder folder;
  fill(folder);
  REQUIRE(nsatune(folder, "export nvbench -o a.json").exit_code == 0);
  std::filesystem::remove_all(folder.file("a.json-bin"));
  const Result r = nsatune(folder, "import nvbench a.json --db new.sqlite");
  CHECK(r.exit_code == 2);
  CHECK(r.err.find("0.bin") != std::string::npos);
}

TEST_CASE("several files cannot go to stdout", "[cli]") {
  const Folder folder;
  fill(folder);
  CHECK(nsatune(folder, "export nvbench").exit_code == 2);
  CHECK(nsatune(folder, "export otava").out.starts_with("time,run"));
}

}  // namespace nsa::test
