// CSV and JSON for other programs.
#include <algorithm>

#include "catch.hpp"
#include "nsa/reports/export.hpp"
#include "samples.hpp"

using namespace nsa::reports;

namespace {

/// A reader of RFC 4180 that knows nothing of the writer.
std::vector<std::vector<std::string>> parse(const std::string& csv) {
  std::vector<std::vector<std::string>> lines{{""}};
  bool quoted = false;
  for (std::size_t i = 0; i < csv.size(); ++i) {
    const char c = csv[i];
    if (quoted && c == '"' && i + 1 < csv.size() && csv[i + 1] == '"') {
      lines.back().back() += csv[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      lines.back().emplace_back();
    } else if (!quoted && c == '\n') {
      lines.push_back({""});
    } else {
      lines.back().back() += c;
    }
  }
  lines.pop_back();  // after the last line break
  return lines;
}

std::string cell(const std::vector<std::vector<std::string>>& lines, std::size_t line,
                 const std::string& column) {
  const auto at = std::find(lines[0].begin(), lines[0].end(), column);
  REQUIRE(at != lines[0].end());
  return lines[line][static_cast<std::size_t>(at - lines[0].begin())];
}

}  // namespace

TEST_CASE("the CSV has a header, a line for each row and its cells below their columns",
          "[reports]") {
  const auto lines = parse(measurements_csv(visits("masked", 512, 1000)));
  REQUIRE(lines.size() == 7);
  for (const auto& line : lines) CHECK(line.size() == lines[0].size());
  CHECK(cell(lines, 1, "variant") == "masked");
  CHECK(cell(lines, 1, "stages") == "attend_selected");
  CHECK(cell(lines, 1, "median_ns") == "1000");
  CHECK(cell(lines, 1, "seq_lens") == "512");
  CHECK(cell(lines, 1, "cold") == "true");
}

TEST_CASE("a row's run says its device, build and environment; without one they are empty",
          "[reports]") {
  auto rows = visits("masked", 512, 1000);
  rows.resize(2);
  rows[0].run_id = "run-1";
  rows[0].placement = {{"host", "GPU-1"}};
  rows[1].run_id = "run-2";
  nsa::Run run;
  run.id = "run-1";
  run.build_id = "0.1.0, release";
  run.environment_hash = "9f";
  run.started_at = "2026-11-21T10:00:00.000Z";
  run.devices.emplace_back().uuid = "GPU-1";
  run.devices.back().name = "Some GPU";
  const auto lines = parse(measurements_csv(rows, {&run, 1}));
  CHECK(cell(lines, 1, "device") == "Some GPU");
  CHECK(cell(lines, 1, "build_id") == "0.1.0, release");
  CHECK(cell(lines, 1, "run_started_at") == run.started_at);
  CHECK(cell(lines, 1, "environment_hash") == "9f");
  CHECK(cell(lines, 2, "device").empty());
  CHECK(lines[2].size() == lines[0].size());
}

TEST_CASE("a name with commas, quotes and line breaks survives the CSV", "[reports]") {
  auto rows = visits("masked", 512, 1000);
  rows.resize(1);
  rows[0].reason = "needs \"51.5 GB\",\r\n12.1 GB free";
  rows[0].note = "the timers differ, by 3 %";
  rows[0].variant.point = {{"bq", 64}, {"st", 3}};
  rows[0].problem.seq_lens = {512, 300};
  const auto lines = parse(measurements_csv(rows));
  REQUIRE(lines.size() == 2);
  CHECK(cell(lines, 1, "reason") == rows[0].reason);
  CHECK(cell(lines, 1, "note") == rows[0].note);
  CHECK(cell(lines, 1, "point") == "bq=64.st=3");
  CHECK(cell(lines, 1, "seq_lens") == "512;300");
}

TEST_CASE("what was not read is an empty cell and a number keeps all its digits", "[reports]") {
  auto rows = visits("masked", 512, 1000);
  rows.resize(2);
  rows[0].median_ns = {};
  rows[1].median_ns = 12345.678901234567;
  rows[1].clocks.sm_mhz = 1980;
  rows[1].need = nsa::ReserveNeed{1, 2, 3, 4};
  const auto lines = parse(measurements_csv(rows));
  CHECK(cell(lines, 1, "median_ns").empty());
  CHECK(cell(lines, 1, "sm_mhz").empty());
  CHECK(cell(lines, 1, "need_sel_pack_l").empty());
  CHECK(std::stod(cell(lines, 2, "median_ns")) == 12345.678901234567);
  CHECK(cell(lines, 2, "sm_mhz") == "1980");
  CHECK(cell(lines, 2, "need_sel_pack_l") == "4");
}

TEST_CASE("cells are quoted only where they must be", "[reports]") {
  CHECK(csv_cell("plain text") == "plain text");
  CHECK(csv_cell("a,b") == "\"a,b\"");
  CHECK(csv_cell("say \"x\"") == "\"say \"\"x\"\"\"");
  CHECK(csv_cell("") == "");
}

TEST_CASE("what a spreadsheet would run as a formula is text, and numbers stay numbers",
          "[reports]") {
  CHECK(csv_cell("=cmd|' /C calc'!A0") == "'=cmd|' /C calc'!A0");
  CHECK(csv_cell("=a,\"b\"") == "\"'=a,\"\"b\"\"\"");
  for (const char* formula : {"+1+1", "-2+3", "@SUM(A1)", "\t=1", "-"})
    CHECK(csv_cell(formula).starts_with('\''));
  for (const char* number : {"-1", "-1.5e-3", "0"}) CHECK(csv_cell(number) == number);
}

TEST_CASE("the samples file has a line for each sample and says whose it is", "[reports]") {
  auto rows = visits("masked", 512, 1000);
  rows.resize(2);
  rows[0].samples = {{1, 2, 3, {}}, {4, 5, 6, 7}};
  CHECK(samples_csv(rows) ==
        "measurement_id,sample,start_ns,device_ns,host_ns,cycles\n"
        "masked512-0,0,1,2,3,\n"
        "masked512-0,1,4,5,6,7\n");
}

TEST_CASE("no rows give a header only", "[reports]") {
  CHECK(parse(measurements_csv({})).size() == 1);
}
