// check --csv: what is found, and what is refused.
#include <fmt/format.h>

#include <algorithm>

#include "catch.hpp"
#include "history.hpp"
#include "program.hpp"

namespace nsa::test {
namespace {

/// check --json of a history, which must obey its schema and exit as it says.
Json check(const Folder& folder, const std::string& csv, const std::string& flags = "") {
  folder.write("h.csv", csv);
  const Result result = nsatune(folder, "check --csv h.csv --json " + flags);
  INFO(result.err);
  Json document = json_of(result, "check");
  CHECK(document["exit_code"] == result.exit_code);
  return document;
}

/// One line on stderr that begins "nsatune: h.csv:<line>:" and holds `word`; exit 2, no output.
void check_refused(const std::string& csv, int line, const std::string& word) {
  const Folder folder;
  folder.write("h.csv", csv);
  const Result result = nsatune(folder, "check --csv h.csv");
  INFO(result.err);
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  CHECK(result.err.starts_with("nsatune: h.csv:" + std::to_string(line) + ":"));
  CHECK(result.err.find(word) != std::string::npos);
}

}  // namespace

TEST_CASE("a step of 5 % is found at its row, and its column alone is red", "[check]") {
  const Folder folder;
  const Json document = check(folder, history_csv({{"slow", 100, 1.05, 30}, {"same", 7}}, 36));
  CHECK(document["exit_code"] == 1);
  const Json& slow = document["series"][0];
  CHECK(slow["state"] == "confirmed");
  REQUIRE(slow["changes"].size() == 1);
  const Json& change = slow["changes"][0];
  CHECK(change["index"] == 90);  // 3 rows a night
  CHECK(change["time"] == "30");
  CHECK(change["direction"] == "up");
  CHECK(change["ratio"].get<double>() == Approx(1.05).epsilon(0.01));
  CHECK(change["interval"][0].get<double>() < 1.05);
  CHECK(change["interval"][1].get<double>() > 1.04);
  CHECK(document["series"][1]["state"] == "ok");
  CHECK(document["counts"]["confirmed"] == 1);
  REQUIRE(document["alerts"].size() == 1);
  CHECK(document["alerts"][0]["series"] == Json::array({"slow"}));
}

TEST_CASE("the direction says which way is a regression", "[check]") {
  const Folder folder;
  const std::string faster = history_csv({{"rate", 100, 0.9, 30}}, 36);
  CHECK(check(folder, faster)["series"][0]["state"] == "improvement");
  CHECK(check(folder, faster, "--direction higher")["exit_code"] == 1);
  CHECK(check(folder, faster, "--direction both")["exit_code"] == 1);
}

TEST_CASE("a small step back does not hide the regression before it", "[check]") {
  const Folder folder;
  std::string csv = history_csv({{"a", 100, 1.2, 22}}, 34);
  const std::string lower = history_csv({{"a", 114}}, 34), night = "\n28,";
  csv.replace(csv.find(night), std::string::npos, lower.substr(lower.find(night)));
  const Json series = check(folder, csv)["series"][0];
  CHECK(series["state"] == "confirmed");
  REQUIRE(series["changes"].size() == 2);
  CHECK(series["state_change"] == 0);
  CHECK(nsatune(folder, "check --csv h.csv").out.find("+20.") != std::string::npos);
}

TEST_CASE("the first nights warm up with exit 3, never 0", "[check]") {
  const Folder folder;
  for (int nights = 1; nights < 7; ++nights) {
    const Json document = check(folder, history_csv({{"a"}}, nights));
    INFO(nights);
    CHECK(document["exit_code"] == 3);
    CHECK(document["series"][0]["state"] == "warming_up");
    CHECK(document["series"][0]["missing_nights"] == 7 - nights);
  }
  CHECK(check(folder, history_csv({{"a"}}, 7))["exit_code"] == 0);
  folder.write("h.csv", history_csv({{"a"}}, 3));
  CHECK(nsatune(folder, "check --csv h.csv").out.find("warming_up (3/7)") != std::string::npos);
  CHECK(check(folder, "time,a\n")["exit_code"] == 3);
}

TEST_CASE("a change counts within --window or after --baseline", "[check]") {
  const Folder folder;
  const std::string old_step = history_csv({{"a", 100, 1.1, 20}}, 60);
  const Json document = check(folder, old_step);
  CHECK(document["exit_code"] == 0);
  CHECK(document["series"][0]["changes"].size() == 1);
  CHECK(check(folder, old_step, "--window 40")["exit_code"] == 1);
  CHECK(check(folder, old_step, "--window 39")["exit_code"] == 0);
  CHECK(check(folder, old_step, "--baseline 19")["exit_code"] == 1);
  CHECK(check(folder, old_step, "--baseline 20")["exit_code"] == 0);
  CHECK(nsatune(folder, "check --csv h.csv --baseline 99").exit_code == 2);
}

TEST_CASE("a baseline may be a commit of few letters", "[check]") {
  const Folder folder;
  std::string csv = "time,commit,a\n";
  for (int night = 0; night < 40; ++night)
    csv +=
        fmt::format("{},c{},{}\n", night, night, (night < 20 ? 100 : 110) + 0.5 * wobble(night, 0));
  CHECK(check(folder, csv, "--baseline c19")["exit_code"] == 1);
  CHECK(check(folder, csv, "--baseline c20")["exit_code"] == 0);
  CHECK(nsatune(folder, "check --csv h.csv --baseline c").exit_code == 2);
}

TEST_CASE("a unit changes no byte of the document", "[check]") {
  const Folder folder;
  std::vector<std::string> documents;
  for (const double unit : {1e-6, 1.0, 1e6}) {
    const std::string csv = history_csv({{"a", 100 * unit, 1.05, 30}, {"b", 3 * unit}}, 36);
    documents.push_back(check(folder, csv).dump());
  }
  CHECK(documents[0] == documents[1]);
  CHECK(documents[1] == documents[2]);
}

TEST_CASE("the number of threads changes no byte", "[check]") {
  const Folder folder;
  folder.write("h.csv", history_csv({{"a", 100, 1.05, 30}, {"b"}, {"c"}, {"d"}}, 36));
  CHECK(nsatune(folder, "check --csv h.csv --json").out ==
        nsatune(folder, "check --csv h.csv --json -j 4").out);
}

TEST_CASE("an empty cell is missing, and --fail-on missing exits 4", "[check]") {
  const Folder folder;
  const std::string csv = history_csv({{"a"}, {"b"}}, 20) + "20,100,\n20,100,nan\n";
  const Json document = check(folder, csv);
  CHECK(document["exit_code"] == 0);
  CHECK(document["series"][1]["state"] == "missing");
  CHECK(check(folder, csv, "--fail-on missing")["exit_code"] == 4);
  const std::string worse = history_csv({{"a", 100, 1.1, 14}, {"b"}}, 20) + "20,110,\n";
  CHECK(check(folder, worse, "--fail-on missing")["exit_code"] == 4);  // before 1
  CHECK(check(folder, worse)["exit_code"] == 1);
}

TEST_CASE("values that are not all positive have a difference, not a ratio", "[check]") {
  const Folder folder;
  std::string csv = "time,a\n";
  for (int night = 0; night < 30; ++night)
    csv += std::to_string(night) + "," + std::to_string(wobble(night, 0) + (night < 20 ? 0 : 9)) +
           "\n";
  const Json document = check(folder, csv);
  CHECK(document["exit_code"] == 1);
  const Json& change = document["series"][0]["changes"].at(0);
  CHECK_FALSE(change.contains("ratio"));
  CHECK(change["delta"].get<double>() == Approx(9).epsilon(0.1));
}

TEST_CASE("times in two zones are compared as times", "[check]") {
  const Folder folder;
  const Json document = check(folder,
                              "time,a\n2026-01-01T00:30:00.5+01:00,1\n2025-12-31 23:30:00.5Z,2\n"
                              "2026-01-01,3\n2026-01-01T0:30Z,4\n");
  CHECK(document["nights"] == 3);
}

TEST_CASE("Otava's CSV is read: its times, and attributes that are no series", "[check]") {
  const Folder folder;
  std::string csv = "\"time\",commit,branch,note,\"metric, ms\"\r\n";
  for (int day = 1; day <= 20; ++day) {
    const std::string two = (day < 10 ? "0" : "") + std::to_string(day);
    csv += "2026.01." + two + " 3:00:00 +0100,12345" + two + ",main,\"all \"\"right\"\"\"," +
           std::to_string((day < 15 ? 100 : 120) + wobble(day, 0)) + "\r\n";
  }
  const Json document = check(folder, "\xef\xbb\xbf" + csv);
  REQUIRE(document["series"].size() == 1);
  CHECK(document["series"][0]["name"] == "metric, ms");
  const Json& change = document["series"][0]["changes"].at(0);
  CHECK(change["index"] == 14);
  CHECK(change["time"] == "2026.01.15 3:00:00 +0100");
  CHECK(change["first_commit"] == "1234514");
  CHECK(change["last_commit"] == "1234515");
}

TEST_CASE("a bad CSV file is one line with its place, and exit 2", "[check]") {
  check_refused("", 1, "empty");
  check_refused("1,5\n2,6\n", 1, "no header");
  check_refused("2026-01-01,5\n", 1, "no header");
  check_refused("hello\n", 1, "one column");
  check_refused("time,a,a\n1,2,3\n", 1, "two columns are 'a'");
  check_refused("time,a,\n1,2,3\n", 1, "column 3 has no name");
  check_refused("time,a\n1,2\n2,fast\n", 3, "'fast'");
  check_refused("time,a\n1,2\n2,inf\n", 3, "'inf'");
  check_refused("time,a\n1,2\n2,1e999\n", 3, "'1e999'");
  check_refused("time,a\n1,2\n2,0x10\n", 3, "'0x10'");
  check_refused("time,a\n1,x\n2,y\n", 2, "no column has a number");
  check_refused("time,a\n1,2\n2\n", 3, "1 cells where the header has 2");
  check_refused("time,a\n1,2\n2,3,4\n", 3, "3 cells");
  check_refused("time,a\n2,2\n1,3\n", 3, "'1' is before");
  check_refused("time,a\n1,2\n2,3\n1,4\n", 4, "sort the rows");
  check_refused("time,a\n2026-02-30,2\n", 2, "'2026-02-30' is not a time");
  check_refused("time,a\n2026-01-01,2\n5,3\n", 3, "another kind of time");
  check_refused("time,a\n1,\"2\n2,3\n", 2, "never closed");
  check_refused("time,a\n1,2\"\n", 2, "quote");
  check_refused("time,a\n1,\"2\"3\n", 2, "closing quote");
  check_refused("time,a\n1,\xff\n", 2, "UTF-8");
  check_refused(std::string("time,a\n1,2\0\n", 12), 2, "control");
  check_refused("time,a\n1," + std::string(1 << 20, '1') + "\n", 2, "longer than");
  check_refused("time,branch,a\n1,main,2\n2,dev,3\n", 3, "'branch' changes");
}

TEST_CASE("a path that cannot be read is exit 2, never 0", "[check]") {
  const Folder folder;
  for (const std::string flags :
       {"--csv none.csv", "--csv .", "--db none.sqlite", "", "--csv h.csv --db results.sqlite"}) {
    folder.write("h.csv", history_csv({{"a"}}, 10));
    const Result result = nsatune(folder, "check " + flags);
    INFO(flags << ": " << result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.out.empty());
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  }
}

}  // namespace nsa::test
