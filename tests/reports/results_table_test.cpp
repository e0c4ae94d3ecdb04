// What a sweep found, as text and as JSON.
#include "golden.hpp"
#include "nsa/reports/tables.hpp"
#include "samples.hpp"

using namespace nsa::reports;
using nsa::Json;
using nsa::Outcome;
using nsa::Verification;

namespace {

std::string role(const nsa::Measurement& row) {
  const nsa::VariantId& id = row.variant;
  if (id.name == "ranges") return "slow path";
  return id.name == "dense" ? "baseline" : "";
}

std::vector<nsa::Measurement> sweep() {
  std::vector<nsa::Measurement> rows;
  for (const std::int64_t length : {512, 4096}) {
    append(rows, visits("masked", length, 40e3 * static_cast<double>(length) / 512));
    append(rows, visits("fused_query", length, length == 512 ? 55e3 : 180e3));
    append(rows, visits("ranges", length, 9e3));
    auto wrong = visits("broken", length, 1e3);
    for (auto& row : wrong) row.verification = Verification::wrong_result;
    append(rows, wrong);
  }
  auto failed = visits("gather", 4096, 1);
  failed.resize(1);
  failed[0].outcome = Outcome::out_of_memory;
  failed[0].reason = "needs 51.5 GB,\n12.1 GB free";
  failed[0].median_ns = failed[0].mad_ns = {};
  failed[0].samples_n = 0;
  append(rows, failed);
  append(rows, visits("ranges_v2", 512, 700, "ranges"));
  auto control = visits("masked", 512, 1);
  for (auto& row : control) row.control = true;  // the A/A control is not a variant of its own
  append(rows, control);
  auto foreign = visits("demo", 512, 2e6);
  for (auto& row : foreign) {
    row.executor = "triton_demo";
    row.verification = Verification::unverified;
  }
  append(rows, foreign);
  return rows;
}

const Json& find(const Json& results, const std::string& variant, std::int64_t length) {
  for (const Json& row : results) {
    if (row["variant"] == variant && row["problem"]["seq_lens"][0] == length) return row;
  }
  throw std::runtime_error("no such result");
}

}  // namespace

TEST_CASE("the table of results groups by stage and marks the best verified candidate",
          "[reports]") {
  CHECK_GOLDEN("results_table.txt", results_table(sweep(), {}, role));
}

TEST_CASE("the results as JSON hold the same verdicts", "[reports]") {
  const Json results = results_json(sweep(), role);
  CHECK(results.size() == 11);
  CHECK(find(results, "attend_selected/masked", 512)["ratio"] == 1.0);
  CHECK(find(results, "attend_selected/fused_query", 512)["ratio"] == Approx(55.0 / 40));
  CHECK(find(results, "attend_selected/masked", 4096)["ratio"] == Approx(320.0 / 180));
  const Json one = find(results, "attend_selected/fused_query", 512);
  CHECK(one["ratio_low"].get<double>() <= one["ratio"].get<double>());
  CHECK(one["ratio_high"].get<double>() >= one["ratio"].get<double>());
  CHECK(find(results, "attend_selected/ranges", 512)["ratio"] == Approx(9.0 / 40));
  CHECK(find(results, "attend_selected/broken", 512)["verification"] == "wrong_result");
  CHECK(find(results, "attend_selected/masked", 512)["samples_n"] == 30);
  const Json failed = find(results, "attend_selected/gather", 4096);
  CHECK(failed["outcome"] == "out_of_memory");
  CHECK_FALSE(failed.contains("median_ns"));
  CHECK(failed["reason"] == "needs 51.5 GB,?12.1 GB free");
}

TEST_CASE("the first note of a variant's rows stands beside its time, and a control's does not",
          "[reports]") {
  auto rows = visits("a", 512, 1000);
  rows[2].note = "the timers\ndiffer";
  rows[3].note = "another one";
  append(rows, visits("b", 512, 1500));
  rows.back().note = "of the control";
  rows.back().control = true;
  const Json results = results_json(rows, role);
  CHECK(find(results, "attend_selected/a", 512)["note"] == "the timers?differ");
  CHECK_FALSE(find(results, "attend_selected/a", 512).contains("reason"));
  CHECK_FALSE(find(results, "attend_selected/b", 512).contains("note"));
  const std::string text = results_table(rows, {}, role);
  CHECK(text.find("  yes       the timers?differ") != std::string::npos);
  CHECK(text.find("another") == std::string::npos);
}

TEST_CASE("a wrong result is called so where its time would stand, and its reason follows",
          "[reports]") {
  auto rows = visits("a", 512, 1000);
  auto wrong = visits("b", 512, 1);
  wrong.resize(1);
  wrong[0].verification = Verification::wrong_result;
  wrong[0].reason = "row 0: relative error 0.02, at most 1e-05 is right; 0 elements not written";
  wrong[0].median_ns = wrong[0].mad_ns = {};
  append(rows, wrong);
  const std::string text = results_table(rows, {}, role);
  INFO(text);
  CHECK(text.find("b        wrong_result ") != std::string::npos);
  CHECK(text.find("  " + wrong[0].reason + "\n") != std::string::npos);
  CHECK(text.find(" ok ") == std::string::npos);
}

TEST_CASE("a reason leaves out what its row says, and a terminal wraps it", "[reports]") {
  auto rows = visits("a", 512, 1);
  rows.resize(1);
  rows[0].outcome = Outcome::crashed;
  rows[0].median_ns = rows[0].mad_ns = {};
  const std::string reason = "the worker ended with signal 11, in the middle of the third visit";
  rows[0].reason = "while measuring attend_selected/a: " + reason;
  CHECK(results_table(rows, {}, role).find("  " + reason + "\n") != std::string::npos);
  const std::string narrow = results_table(rows, {.columns = 80}, role);
  INFO(narrow);
  for (const char* word : {"the worker ended", "signal 11,", "third visit"})
    CHECK(narrow.find(word) != std::string::npos);
  CHECK(narrow.find("while measuring") == std::string::npos);
}

TEST_CASE("a ratio is paired by round, so that a slow round moves no interval", "[reports]") {
  auto rows = visits("a", 512, 1000);
  append(rows, visits("b", 512, 1100));
  for (auto& row : rows) {
    if (row.round == 1) *row.median_ns *= 3;  // the clock fell for both
  }
  const std::string text = results_table(rows, {}, role);
  CHECK(text.find("1.10x  [1.1, 1.1]") != std::string::npos);
}

TEST_CASE("the mark stands where the decision takes a row, be it the fastest or not", "[reports]") {
  auto rows = visits("a", 512, 1000);
  append(rows, visits("b", 512, 1001));
  const auto takes_b = [](const nsa::Measurement& row) { return row.variant.name == "b"; };
  const Json results = results_json(rows, role, takes_b);
  CHECK(find(results, "attend_selected/a", 512)["chosen"] == false);
  CHECK(find(results, "attend_selected/b", 512)["chosen"] == true);
  CHECK(find(results, "attend_selected/b", 512)["ratio"] == Approx(1.001));
  const std::string text = results_table(rows, {}, role, takes_b);
  CHECK(text.find("*  b") != std::string::npos);
  CHECK(text.find("*  a") == std::string::npos);
}

TEST_CASE("where nothing is verified the best unverified row is the reference", "[reports]") {
  auto rows = visits("a", 512, 1000);
  append(rows, visits("b", 512, 1500));
  for (auto& row : rows) row.verification = Verification::unverified;
  CHECK(find(results_json(rows, role), "attend_selected/b", 512)["ratio"] == Approx(1.5));
}

TEST_CASE("ragged, batched and cached problems say their lengths", "[reports]") {
  auto rows = visits("a", 512, 1000);
  rows.resize(1);
  const auto text = [&](std::vector<std::int64_t> lens, std::vector<std::int64_t> contexts) {
    rows[0].problem.seq_lens = std::move(lens);
    rows[0].problem.context_lens = std::move(contexts);
    return results_table(rows, {}, role);
  };
  CHECK(text({64, 64, 64, 64}, {0, 0, 0, 0}).find(" 4x64 ") != std::string::npos);
  CHECK(text({64, 32}, {0, 0}).find(" 64+32 ") != std::string::npos);
  CHECK(text({1}, {8192}).find(" 1 after 8192 ") != std::string::npos);
}

TEST_CASE("no rows give a line that says so", "[reports]") {
  CHECK(results_table({}, {}, role) == "no measurements\n");
  CHECK(results_json({}, role) == Json::array());
}

TEST_CASE("a foreign worker's rows are compared with ours of its run, on whatever device it says",
          "[reports]") {
  std::vector<nsa::Measurement> rows = sweep();
  const auto ratio_of_demo = [&] {
    const Json demo = find(results_json(rows, role), "attend_selected/demo", 512);
    return demo.value("ratio", 0.0);
  };
  const double before = ratio_of_demo();
  CHECK(before > 2);
  for (auto& row : rows)
    if (row.executor == "triton_demo") row.placement = {{"host", "worker-1"}};
  CHECK(ratio_of_demo() == before);
  for (auto& row : rows)
    if (row.executor == "triton_demo") row.run_id = "another run";
  CHECK(ratio_of_demo() == 1);
}

TEST_CASE("one sample has no spread, two visits of one sample each have theirs", "[reports]") {
  auto rows = visits("masked", 512, 100);
  for (auto& row : rows) row.samples_n = 1, row.mad_ns = 0;
  rows.resize(1);
  CHECK_FALSE(results_json(rows, role)[0].contains("mad_ns"));
  rows.push_back(rows[0]);
  rows[1].round = rows[0].round + 1;
  rows[0].median_ns = 100;
  rows[1].median_ns = 110;
  CHECK(results_json(rows, role)[0]["mad_ns"] == Approx(5));
}

TEST_CASE("a role is that of the back end that was measured", "[reports]") {
  auto row = visits("packed", 512, 100)[0];
  row.placement.resize(1);
  row.placement[0].device_uuid = "CPU-0123456789abcdef";
  CHECK(role_in_catalog(row).empty());
  row.placement[0].device_uuid = "GPU-0123";
  CHECK(role_in_catalog(row) == "slow path");
}
