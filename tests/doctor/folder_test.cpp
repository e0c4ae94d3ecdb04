// A folder of anything, files that nobody understands, runs that crashed, steps that warmed up.
#include "../cli/program.hpp"
#include "../trace/traces.hpp"
#include "catch.hpp"

namespace nsa::test {
namespace {

/// Kernels without a gap, and before them steps that take `slow_us`.
std::string steps(const std::vector<double>& lengths) {
  JsonTrace t;
  double at = 0;
  int id = 0;
  for (const double us : lengths) {
    t.range("ProfilerStep#" + std::to_string(id), at, us);
    t.launched("k", id + 1, at + 1, at + us / 2, us / 2);
    at += us;
    ++id;
  }
  return t.text();
}

}  // namespace

TEST_CASE("doctor looks at what is in a folder, and says what it could not read", "[doctor]") {
  const Folder folder;
  std::filesystem::create_directory(folder.file("run"));
  folder.write("run/trace.json", steps({1000, 1000}));
  folder.write("run/train.log", "Traceback (most recent call last):\nValueError: no such file\n");
  folder.write("run/damaged.json", "{\"traceEvents\": [{\"ph\": \"X\"");
  folder.write("run/notes.txt", "bought milk\n");
  const Result result = nsatune(folder, "doctor run --json");
  CHECK(result.exit_code == 1);
  const Json document = json_of(result, "doctor");
  REQUIRE_FALSE(document["findings"].empty());
  CHECK(document["findings"][0]["rule"] == "log_crash");
  CHECK(document["findings"][0]["message"].get<std::string>().find("ValueError: no such file") !=
        std::string::npos);
  std::string reasons;
  for (const Json& row : document["not_judged"]) reasons += row["source"].get<std::string>() + " ";
  CHECK(reasons.find("damaged.json") != std::string::npos);
  CHECK(reasons.find("notes.txt") != std::string::npos);
  std::filesystem::create_directory(folder.file("empty"));
  const Result empty = nsatune(folder, "doctor empty");
  CHECK(empty.exit_code == 2);
  CHECK(std::count(empty.err.begin(), empty.err.end(), '\n') == 1);
}

TEST_CASE("a log in which no rule knows anything is not judged", "[doctor]") {
  const Folder folder;
  folder.write("run.log", "hello\nworld\n");
  const Result result = nsatune(folder, "doctor run.log");
  CHECK(result.exit_code == 3);
  CHECK(result.out.find("no rule knows anything") != std::string::npos);
}

TEST_CASE("steps that warmed up are left out, and it is said", "[doctor]") {
  const Folder folder;
  folder.write("t.json", steps({90000, 1000, 1000, 1000, 1000, 1000, 1000, 1000}));
  const Json document = json_of(nsatune(folder, "doctor t.json --json"), "doctor");
  REQUIRE(document["not_judged"].size() == 1);
  const Json& row = document["not_judged"][0];
  CHECK(row["reason"].get<std::string>().find("the first 1 of 8 steps") != std::string::npos);
  CHECK(row["whole"] == false);
}

}  // namespace nsa::test
