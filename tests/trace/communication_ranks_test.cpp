// Collectives matched over ranks: who was late, and what may be missing.
#include <sstream>

#include "catch.hpp"

#include "../cli/program.hpp"
#include "nsa/trace/merge.hpp"
#include "nsa/trace/summary_json.hpp"
#include "traces.hpp"

namespace nsa::test {
namespace {

/// PyTorch's file of a rank on a host that all share: `starts` of all-reduces, each of which ends
/// at 1000, 2000, ... us.
struct Rank {
  int rank = 0;
  std::vector<double> starts{};
  std::string host = "n1";
  int world = 2;
  std::string base = "1790000000000000000";
  int first_sequence = -1;  // -1: none recorded

  std::string text() const {
    JsonTrace t;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const int id = static_cast<int>(i) + 1;
      const double end = 1000.0 * id;
      t.call("cudaLaunchKernel", id, starts[i] - 5, 1);
      char times[64];
      std::snprintf(times, sizeof times, "%.3f", starts[i]);
      const std::string sequence =
          first_sequence < 0 ? "" : ", \"Seq\": " + std::to_string(first_sequence + id);
      t.event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096>)",
              times, std::to_string(end - starts[i]),
              R"(, "pid": 0, "tid": 20, "args": {"device": 0, "stream": 20, "correlation": )" +
                  std::to_string(id) + R"(, "External id": )" + std::to_string(100 + id) +
                  R"(, "Collective name": "allreduce", "In msg nelems": 250000,
                     "Out msg nelems": 250000, "Group size": 4, "dtype": "Float",
                     "Process Group Name": "dp", "Process Group Ranks": "[0, 1, 2, 3]")" +
                  sequence + "}");
    }
    return R"({"host_name": ")" + host + R"(", "baseTimeNanoseconds": )" + base +
           R"(, "distributedInfo": {"rank": )" + std::to_string(rank) + R"(, "world_size": )" +
           std::to_string(world) + "}, " + t.text().substr(1);
  }
};

trace::Summary merged(const std::vector<Rank>& ranks) {
  std::vector<trace::Trace> traces;
  for (const Rank& rank : ranks)
    traces.push_back(
        trace::read_json_trace(rank.text(), "rank" + std::to_string(rank.rank) + ".json"));
  return trace::summarize(trace::merge_traces(std::move(traces)));
}

}  // namespace

TEST_CASE("what a rank that is missing may have done is a bound", "[trace]") {
  std::vector<Rank> ranks;
  for (int r = 0; r < 4; ++r)
    ranks.push_back(
        {.rank = r, .starts = {r == 1 ? 800. : 700., r == 1 ? 1800. : 1700.}, .world = 4});
  const trace::CollectiveRow whole = merged(ranks).collectives->rows.at(0);
  CHECK(whole.complete == 2);
  CHECK_FALSE(whole.bounds());
  CHECK(whole.median_transfer_ns == 200'000);
  ranks.erase(ranks.begin() + 1);  // the one that came last
  const trace::CollectiveRow part = merged(ranks).collectives->rows.at(0);
  CHECK(part.matched == 2);
  CHECK(part.complete == 0);
  CHECK(part.bounds());
  const Folder folder;
  std::string files;
  for (const Rank& rank : ranks) {
    const std::string file = "r" + std::to_string(rank.rank) + ".json";
    folder.write(file, rank.text());
    files += " " + file;
  }
  const std::string text = nsatune(folder, "trace summary" + files).out;
  CHECK(text.find("<= 300 us") != text.npos);
  CHECK(text.find("the one that came last may be missing") != text.npos);
}

TEST_CASE("a planted straggler is named, and what it costs is exact", "[trace]") {
  // Rank 1 comes 300 us late to the second all-reduce and 50 us late to the third.
  const auto s =
      merged({{.rank = 0, .starts = {900, 1500, 2800}}, {.rank = 1, .starts = {900, 1800, 2850}}});
  REQUIRE(s.collectives);
  const trace::Collectives& c = *s.collectives;
  CHECK(c.arrivals == "starts");
  CHECK(c.unmatched == 0);
  REQUIRE(c.rows.size() == 1);
  const trace::CollectiveRow& row = c.rows[0];
  CHECK(row.collective == "all_reduce");
  CHECK(row.transport == "nccl");
  CHECK(row.group == "dp");
  CHECK(row.group_size == 4);
  CHECK(row.bytes == 1'000'000);
  CHECK(row.count == 3);
  CHECK(row.matched == 3);
  CHECK(row.total_ns == (100 + 500 + 200 + 100 + 200 + 150) * 1000);
  CHECK(row.wait_ns == (0 + 300 + 50) * 1000);
  CHECK(row.median_transfer_ns == 150'000);
  CHECK(row.median_spread_ns == 50'000);
  CHECK(row.worst_spread_ns == 300'000);
  CHECK(row.median_algorithm_gb_per_s == Approx(1e6 / 150e3));
  CHECK(row.median_bus_gb_per_s == Approx(1e6 / 150e3 * 2 * 3 / 4));
  CHECK(row.best_bus_gb_per_s == Approx(1e6 / 100e3 * 2 * 3 / 4));
  REQUIRE(c.ranks.size() == 2);
  CHECK(c.ranks[0].rank == 1);
  CHECK(c.ranks[0].last == 2);
  CHECK(c.ranks[0].late_ns == 350'000);
  CHECK(c.ranks[0].wait_ns == 0);
  CHECK(c.ranks[1].rank == 0);
  CHECK(c.ranks[1].last == 0);
  CHECK(c.ranks[1].wait_ns == 350'000);
  REQUIRE(c.longest_waits.size() == 2);
  CHECK(c.longest_waits[0].start_ns == 1'500'000);
  CHECK(c.longest_waits[0].last.rank == 1);
  CHECK(c.longest_waits[0].spread_ns == 300'000);
  CHECK_NOTHROW(validate_json(trace::to_document(s), "trace_summary", "test"));
}

TEST_CASE("the page about traces shows what is printed of these two ranks out of four", "[trace]") {
  const Folder folder;
  folder.write("rank0.json", Rank{.rank = 0, .starts = {900, 1500, 2800}, .world = 4}.text());
  folder.write("rank1.json", Rank{.rank = 1, .starts = {900, 1800, 2850}, .world = 4}.text());
  const std::string command = "trace summary rank0.json rank1.json";
  const std::string printed = nsatune(folder, command).out;
  INFO(printed);
  const std::string page = read_text_file(std::string(NSA_SOURCE_DIR) + "/docs/traces.md");
  const std::size_t example =
      page.find("$ nsatune " + command, page.find("\nTwo ranks out of four"));
  REQUIRE(example != page.npos);
  std::istringstream lines(page.substr(example, page.find("```", example) - example));
  std::string line;
  std::getline(lines, line);  // the command
  while (std::getline(lines, line)) {
    CAPTURE(line);
    CHECK(printed.find(line + "\n") != printed.npos);
  }
}

TEST_CASE("clocks that cannot be compared still tell who came last", "[trace]") {
  // The same end everywhere, so what took longest came first. No other collective aligns clocks.
  const auto s = merged({{.rank = 0, .starts = {100}, .host = "a"},
                         {.rank = 1, .starts = {700}, .host = "b", .base = "1790000009000000000"}});
  REQUIRE(s.collectives);
  CHECK(s.collectives->ranks.at(0).rank == 1);
  CHECK(s.collectives->ranks.at(0).late_ns == 600'000);
}

TEST_CASE("one rank alone waits for nobody that is known", "[trace]") {
  const auto s =
      trace::summarize(trace::read_json_trace(Rank{.starts = {900, 1800}}.text(), "rank0.json"));
  REQUIRE(s.collectives);
  const trace::CollectiveRow& row = s.collectives->rows.at(0);
  CHECK(row.count == 2);
  CHECK(row.matched == 0);
  CHECK_FALSE(row.wait_ns);
  CHECK_FALSE(row.median_transfer_ns);
  CHECK(row.median_algorithm_gb_per_s == Approx(1e6 / 100e3));
  CHECK(s.collectives->ranks.empty());
}

TEST_CASE("recordings that begin at different collectives are matched all the same", "[trace]") {
  for (const int sequence : {-1, 5}) {
    CAPTURE(sequence);
    // Rank 1 was not recorded in the first one.
    const Rank late{
        .rank = 1, .starts = {800, 1900}, .first_sequence = sequence < 0 ? -1 : sequence + 1};
    std::vector<trace::Trace> traces;
    traces.push_back(trace::read_json_trace(
        Rank{.rank = 0, .starts = {900, 1700, 2700}, .first_sequence = sequence}.text(), "a"));
    traces.push_back(trace::read_json_trace(late.text(), "b"));
    for (trace::GpuOp& op : traces.back().ops) op.start_ns += 1'000'000, op.end_ns += 1'000'000;
    const auto s = trace::summarize(trace::merge_traces(std::move(traces)));
    REQUIRE(s.collectives);
    const trace::CollectiveRow& row = s.collectives->rows.at(0);
    CHECK(row.matched == 2);
    CHECK(row.count == 3);
    CHECK(row.wait_ns == 300'000);
    CHECK(s.collectives->unmatched == 1);
  }
}

TEST_CASE("what never ran at one time is not taken for one collective", "[trace]") {
  std::vector<trace::Trace> traces;
  for (int rank = 0; rank < 2; ++rank)
    traces.push_back(trace::read_json_trace(Rank{.rank = rank, .starts = {900, 1900}}.text(),
                                            "r" + std::to_string(rank)));
  for (trace::GpuOp& op : traces.back().ops) op.start_ns += 60'000'000, op.end_ns += 60'000'000;
  const auto s = trace::summarize(trace::merge_traces(std::move(traces)));
  REQUIRE(s.collectives);
  CHECK(s.collectives->ranks.empty());
  CHECK(s.collectives->unmatched == 4);
}

TEST_CASE("files that are not the ranks of one job are refused with the reason", "[trace]") {
  const Folder folder;
  const auto write = [&](const char* name, const Rank& rank) { folder.write(name, rank.text()); };
  write("a.json", {.rank = 0, .starts = {900}});
  write("b.json", {.rank = 1, .starts = {950}});
  write("twice.json", {.rank = 0, .starts = {950}});
  write("larger.json", {.rank = 1, .starts = {950}, .world = 8});
  write("beyond.json", {.rank = 2, .starts = {950}});
  write("later.json", {.rank = 1, .starts = {950}, .base = "1790300000000000000"});
  CHECK(nsatune(folder, "trace summary a.json b.json").exit_code == 0);
  for (const auto& [file, word] : {std::pair{"twice.json", "rank 0"},
                                   {"larger.json", "8 ranks"},
                                   {"beyond.json", "rank 2 of 2"},
                                   {"later.json", "3 days"}}) {
    CAPTURE(file);
    for (const char* command : {"trace summary a.json ", "trace convert a.json "}) {
      const Result r = nsatune(
          folder,
          std::string(command) + file +
              (std::string(command).find("convert") == std::string::npos ? "" : " out.json"));
      CHECK(r.exit_code == 2);
      CHECK(r.err.find(word) != std::string::npos);
      CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
    }
  }
}

}  // namespace nsa::test
