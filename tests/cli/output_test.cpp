// Where output may go: refused before anything runs, and never over a database.
#include <filesystem>

#include "catch.hpp"
#include "program.hpp"
#include "refused.hpp"

namespace nsa::test {

TEST_CASE("output that cannot be written is exit 4, short or long", "[cli]") {
  const Folder folder;
  const std::string full = " >/dev/full 2>/dev/null; code=$?; (exit $code)";
  for (const char* command : {"devices", "variants --json", "--help"}) {
    INFO(command);
    CHECK(nsatune(folder, command + full).exit_code == 4);
  }
}

TEST_CASE("a database that is none of ours is refused and kept", "[cli]") {
  const Folder folder;
  const std::string text = "this is not a database, but somebody's diary, long enough to be read";
  folder.write("diary.txt", text);
  for (const char* command : {"sweep quick", "db info", "export", "tune -o t.json"}) {
    const Result r = nsatune(folder, std::string(command) + " --db diary.txt");
    INFO(command << ": " << r.err);
    CHECK(r.exit_code == 2);
    CHECK(r.err.find("diary.txt") != std::string::npos);
  }
  CHECK(read_text_file(folder.file("diary.txt")) == text);
  CHECK_FALSE(std::filesystem::exists(folder.file("t.json")));
}

TEST_CASE("no output goes over a database, and a folder that is not there is exit 2", "[cli]") {
  const Folder folder;
  const std::string tiny = "run --preset tiny --seq-len 8 --layers 1 --steps 1 ";
  REQUIRE(nsatune(folder, tiny + "--db results.sqlite").exit_code == 0);
  const std::string before = read_text_file(folder.file("results.sqlite"));
  for (const std::string& command : {std::string("export -o results.sqlite"),
                                     std::string("doctor --record results.sqlite -- true"),
                                     tiny + "--heartbeat results.sqlite --db other.sqlite"}) {
    const Result r = nsatune(folder, command);
    INFO(command << ": " << r.err);
    CHECK(r.exit_code == 2);
    CHECK(r.err.find("results.sqlite: is a SQLite database; name another file") !=
          std::string::npos);
    CHECK(read_text_file(folder.file("results.sqlite")) == before);
  }
  CHECK(nsatune(folder, "export -o no/such/folder.csv").exit_code == 2);
}

TEST_CASE("a file that cannot be written is refused before anything runs", "[cli]") {
  const Folder folder;
  const std::string tiny = "run --preset tiny --seq-len 8 --layers 1 --steps 1 --device cpu ";
  for (const std::string& command : {tiny + "--heartbeat no/such", tiny + "--stage-trace no/such",
                                     tiny + "--train --batch 1 --heartbeat no/such",
                                     std::string("doctor --record no/such -- touch ran")}) {
    const Result r = nsatune(folder, command);
    INFO(command << ": " << r.err);
    CHECK(r.exit_code == 2);
    CHECK(r.out.empty());
    CHECK(lines_of(r.err) == 1);
    CHECK(r.err.starts_with("nsatune: no/such: cannot be written: "));
  }
  CHECK_FALSE(std::filesystem::exists(folder.file("ran")));
  CHECK_FALSE(std::filesystem::exists(folder.file("results.sqlite")));
}

TEST_CASE("a run whose stdout is full keeps its result in the other places", "[cli]") {
  const Folder folder;
  const Result r =
      nsatune(folder,
              "run --preset tiny --seq-len 8 --layers 1 --steps 1 --stage-trace s.json "
              ">/dev/full 2>err; code=$?; (exit $code)");
  CHECK(r.exit_code == 4);
  CHECK(read_text_file(folder.file("err")).find("nsatune: stdout: cannot write") !=
        std::string::npos);
  CHECK(std::filesystem::exists(folder.file("s.json")));
  CHECK(json_of(nsatune(folder, "db info --json"), "db_info")["run_results"] == 1);
}

TEST_CASE("a run whose heartbeats have no room goes on, and says at its end what is missing",
          "[cli]") {
  const Folder folder;
  folder.write("beats", std::string(100'000, '\n'));
  const std::string tiny =
      "run --preset tiny --seq-len 8 --steps 3 --no-db --json --heartbeat beats";
  for (const std::string& command : {tiny, tiny + " --train --batch 1"}) {
    const Result r = nsatune(folder, command, "prlimit --fsize=100000");
    INFO(r.err);
    CHECK(r.exit_code == 4);
    CHECK(json_of(r, "run_result")["step_ns"].size() >= 2);
    CHECK(r.err.find("; the run goes on without heartbeats\n") != std::string::npos);
    CHECK(r.err.find("heartbeats are missing; make room on its disk\n") != std::string::npos);
  }
}

TEST_CASE("a dash is stdout for check and report, and no file anywhere", "[cli]") {
  const Folder folder;
  folder.write("h.csv", "time,a\n0,1\n1,1\n");
  const Result check = nsatune(folder, "check --csv h.csv --format csv -o -");
  CHECK(check.out.starts_with("series,"));
  const Result page = nsatune(folder, "report --csv h.csv -o -");
  INFO(page.err);
  if (page.exit_code != 4) CHECK(page.out.starts_with("<!"));  // 4: no libjs-vega here
  const Result trace =
      nsatune(folder, "run --preset tiny --seq-len 8 --layers 1 --steps 1 --stage-trace -");
  CHECK(trace.exit_code == 2);
  CHECK(trace.err ==
        "nsatune: -: this output is a file; name one, or ./- where that is its name\n");
  CHECK_FALSE(std::filesystem::exists(folder.file("-")));
}

TEST_CASE("a run that fails leaves no empty stage trace", "[cli]") {
  const Folder folder;
  folder.write("stages.json", "earlier");
  const Result r = nsatune(folder,
                           "run --preset tiny --seq-len 8 --device cpu --stage-trace stages.json "
                           "--db no/such.sqlite");
  CHECK(r.exit_code != 0);
  CHECK(read_text_file(folder.file("stages.json")) == "earlier");
}

}  // namespace nsa::test
