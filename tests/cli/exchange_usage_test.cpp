// Slips of the pen around export, import and the settings of other programs: what is said of them.
#include <sys/stat.h>

#include <algorithm>
#include <sstream>

#include "../store/support.hpp"
#include "catch.hpp"
#include "program.hpp"
#include "text.hpp"

namespace nsa::test {
namespace {

/// A database with a few rows of attend_selected.
void fill(const Folder& folder) {
  store::Store db = store::Store::open(folder.file("results.sqlite"));
  const store::OwnedRun owned = db.open_run(some_request());
  for (std::int64_t i = 0; i < 4; ++i) db.add(some_measurement(owned.run().id, i));
}

/// One line on stderr with `part`, and exit 2.
void check_refused(const Folder& folder, const std::string& arguments, const std::string& part) {
  const Result result = nsatune(folder, arguments);
  INFO(arguments << ": " << result.err);
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  CHECK(contains(result.err, part));
}

}  // namespace

TEST_CASE("export tells a stage that nobody has from one without rows", "[cli]") {
  const Folder folder;
  fill(folder);
  check_refused(folder, "export csv --stage nope", "--stage nope: ");
  check_refused(folder, "export json --stage attend_selcted", "did you mean attend_selected?");
  check_refused(folder, "export t4 --variant maskd", "did you mean masked?");
  const Result none = nsatune(folder, "export csv --stage layer");
  CHECK(none.exit_code == 0);
  CHECK(none.err == "note: results.sqlite has no row of stage layer\n");
  CHECK(none.out.starts_with("id,"));
  CHECK(nsatune(folder, "export csv --stage attend_selected").err.empty());
}

TEST_CASE("a format that is none is named, with the one that was meant", "[cli]") {
  const Folder folder;
  fill(folder);
  check_refused(folder, "export foo", "export: no format 'foo'; use one of header, csv, json, ");
  check_refused(folder, "export jsn", "did you mean json?");
  check_refused(folder, "export nsa_vibe", "format 'nsa_vibe' can only be imported");
  check_refused(folder, "import foo x.json", "import: no format 'foo'; use one of csv, json, ");
  check_refused(folder, "import sweep.json kernel_tuner",
                "the format comes before the files: import kernel_tuner sweep.json");
}

TEST_CASE("import says what a file is that is of another format", "[cli]") {
  const Folder folder;
  fill(folder);
  folder.write("spec.json", nsatune(folder, "sweep quick --print-spec").out);
  folder.write("empty.json", "\n");
  folder.write("list.json", "[1, 2]");
  folder.write("bench.json", R"({"context": {}, "benchmarks": []})");
  REQUIRE(nsatune(folder, "export json -o rows.json").exit_code == 0);
  REQUIRE(nsatune(folder, "export csv -o rows.csv").exit_code == 0);
  const std::string expected = "; kernel_tuner expects Kernel Tuner's cache file\n";
  const auto refused = [&](const std::string& file, const std::string& what) {
    check_refused(folder, "import kernel_tuner " + file, file + ": is " + what + expected);
  };
  refused("spec.json", "a sweep spec, for nsatune sweep");
  refused("empty.json", "empty");
  check_refused(folder, "import kernel_tuner list.json",
                "list.json: cache is missing; kernel_tuner expects Kernel Tuner's");
  refused("bench.json", "Google Benchmark's JSON (nsatune import google_benchmark)");
  refused("rows.json", "what nsatune export json writes (nsatune import json)");
  refused("rows.csv", "what nsatune export csv writes (nsatune import csv)");
  check_refused(folder, "import t4 bench.json", "; t4 expects T4 results");
  check_refused(folder, "import csv results.sqlite",
                "is a results database; use it with --db, or nsatune db merge");
  folder.write("other.json", "{\"key\": {}}\n");
  check_refused(folder, "import kernel_tuner other.json",
                "other.json: cache is missing; kernel_tuner expects Kernel Tuner's");
}

TEST_CASE("import refuses a pipe at once instead of waiting for its writer", "[cli]") {
  const Folder folder;
  REQUIRE(mkfifo(folder.file("pipe").c_str(), 0644) == 0);
  for (const std::string format : {"csv", "json", "nvbench"})
    check_refused(folder, "import " + format + " pipe", "pipe: is not a regular file; ");
  const Result training =
      nsatune(folder, "run --preset tiny --train --batch 1 --seq-len 8 --data pipe");
  CHECK(training.exit_code == 2);
  CHECK(contains(training.err, "pipe: is not a regular file; name a file of tokens"));
}

TEST_CASE("flags of import and export that contradict each other are refused", "[cli]") {
  const Folder folder;
  fill(folder);
  folder.write("h.csv", "time,a\n0,1\n");
  const std::string import = "import otava h.csv --stage attend_window ";
  check_refused(folder, import + "--set seq_len=64 --set seq_len=65", "seq_len is given twice");
  check_refused(folder, import + "--set batch=1 --axis batch=a", "batch is given twice");
  check_refused(folder, "export csv --json", "export csv --json: stdout has one of them");
  folder.write("file", "");
  check_refused(folder, "export nvbench -o file/x.json", "; choose a folder that exists");
  std::filesystem::create_directory(folder.file("taken"));
  check_refused(folder, "export nvbench -o taken", "taken: is not a regular file");
  CHECK_FALSE(std::filesystem::exists(folder.file("taken-bin")));  // its sidecars
}

TEST_CASE("an empty file is said to be empty", "[cli]") {
  const Folder folder;
  folder.write("empty", "");
  for (const char* command : {"verify empty", "explain empty", "run --thresholds empty",
                              "report targets empty", "report memory --thresholds empty"})
    check_refused(folder, command, "empty: is empty; ");
}

TEST_CASE("a database given as a CSV file is sent to its flag", "[cli]") {
  const Folder folder;
  fill(folder);
  check_refused(folder, "check --csv results.sqlite",
                "results.sqlite: is a database; name it with --db, not --csv");
}

TEST_CASE("several classes are listed a line each, with flags that choose them", "[cli]") {
  const Folder folder;
  const std::string emit = "tune --from '" NSA_SOURCE_DIR
                           "/kernels/tuned/nvidia_h200.json' --emit env --for nsa-vibe -o - ";
  const Result several = nsatune(folder, emit);
  CHECK(several.exit_code == 2);
  CHECK(several.out.empty());
  std::istringstream lines(several.err);
  std::size_t chosen = 0;
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    if (!line.starts_with("--preset ")) continue;
    std::string flags = line.substr(0, line.find("  "));
    for (std::size_t at; (at = flags.find(" N")) != flags.npos;) flags.replace(at, 2, " 4096");
    const std::string of_class = line.substr(line.find_first_not_of(' ', flags.size()));
    const Result one = nsatune(folder, emit + flags);
    INFO(one.err);
    CHECK(one.exit_code != 2);
    if (one.exit_code == 0) CHECK(contains(one.out, "for " + of_class + "\n"));
    ++chosen;
  }
  CHECK(chosen > 8);
  CHECK(contains(several.err, "\n--config YOURS.yaml --dtype bf16 "));
  CHECK(contains(nsatune(folder, "tune --help").out, "default: the only class that there is"));
}

}  // namespace nsa::test
