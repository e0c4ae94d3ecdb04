// Communication of a trace: what recordings of our own say of it, what hides it, and what else
// counts as it.
#include "catch.hpp"

#include "../cli/program.hpp"
#include "nsa/trace/merge.hpp"
#include "nsa/trace/write.hpp"
#include "spool_builder.hpp"
#include "traces.hpp"

namespace nsa::test {

TEST_CASE("recordings of our own have sizes and bandwidths by what NCCL says", "[trace]") {
  const auto recorded = [](int rank, std::int64_t start_ns) {
    spool::SpoolHeader header;
    header.process = static_cast<std::uint32_t>(40 + rank);
    header.rank = rank;
    header.world_size = 2;
    SpoolBuilder spool(header);
    spool.metadata("host", "one");
    spool.range("ncclAllReduce", 1000, 2000).sent("ncclAllReduce", 1100, 3'000'000, 0xab, 2);
    spool.launched("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 1, 1200, start_ns,
                   100'000 - start_ns);
    // Within it one that tells nothing, as NCCL has for a group.
    spool.range("ncclAllGather", 3000, 4000).range("ncclGroupEnd", 3100, 3900);
    spool.sent("ncclAllGather", 3050, 500, 0xab, 2);
    spool.launched("ncclDevKernel_AllGather_RING_LL", 2, 3200, 200'000, 10'000);
    return trace::read_spool_trace(spool.totals(2, 2).bytes(), "rank.nsaspool");
  };
  const auto check = [](const trace::Summary& s) {
    REQUIRE(s.collectives);
    REQUIRE(s.collectives->rows.size() == 2);
    const trace::CollectiveRow& row = s.collectives->rows[0];
    CHECK(row.collective == "all_reduce");
    CHECK(row.group == "00000000000000ab");
    CHECK(row.group_size == 2);
    CHECK(row.bytes == 3'000'000);
    CHECK(row.median_transfer_ns == 75'000);  // of rank 1, which came last
    CHECK(row.median_algorithm_gb_per_s == 40.0);
    CHECK(row.median_bus_gb_per_s == 40.0);
    CHECK(s.collectives->rows[1].bytes == 1000);
    CHECK(s.collectives->unmatched == 0);
  };
  std::vector<trace::Trace> ranks;
  ranks.push_back(recorded(0, 5000));
  ranks.push_back(recorded(1, 25'000));
  std::vector<trace::Trace> written;
  for (const trace::Trace& rank : ranks) {
    const TemporaryFile file("");
    trace::write_chrome_trace(rank, file.path());
    written.push_back(trace::read_trace(file.path()));
  }
  check(trace::summarize(trace::merge_traces(std::move(ranks))));
  check(trace::summarize(trace::merge_traces(std::move(written))));  // what trace record leaves
}

TEST_CASE("exposed communication says how it is known what waited for it", "[trace]") {
  const auto trace = [](int stream, bool waits) {
    JsonTrace t;
    t.launched("gemm", 1, 0, 5, 20);
    t.launched("ncclDevKernel_AllReduce", 2, 1, 6, 50, stream);
    if (waits) t.call("cudaStreamWaitEvent", 9, 2, 1);
    t.launched("after", 3, 4, 57, 10);
    return t.text();
  };
  const Folder folder;
  const auto waits = [&](const std::string& text) {
    folder.write("t.json", text);
    return json_of(nsatune(folder, "trace summary t.json --json"),
                   "trace_summary")["exposed_comm_waits"];
  };
  const auto line = [&] {
    const std::string text = nsatune(folder, "trace summary t.json").out;
    const std::string from = text.substr(text.find("  communication "));
    return from.substr(0, from.find('\n'));
  };
  CHECK(waits(trace(20, false)) == "none");
  CHECK(line().find("no stream is known to have waited for it") != std::string::npos);
  CHECK(waits(trace(20, true)) == "inferred");
  CHECK(line().find("which streams waited for it is inferred") != std::string::npos);
  CHECK(waits(trace(7, false)).is_null());  // one stream: its order says it
  CHECK(line().find("known") == std::string::npos);
  CHECK(waits(JsonTrace().launched("gemm", 1, 0, 5, 20).text()).is_null());
  folder.write("t.json", trace(20, false));
  CHECK(
      nsatune(folder, "trace summary t.json --name nccl").out.find("what was left out may hide") !=
      std::string::npos);
}

TEST_CASE("copies between GPUs and Gloo's copies are communication", "[trace]") {
  JsonTrace t;
  const auto copy = [&](const char* name, int id, const char* at) {
    t.call("cudaMemcpyAsync", id, 10 * id, 1);
    t.event(
        "gpu_memcpy", name, at, "10",
        R"(, "pid": 0, "tid": 7, "args": {"device": 0, "stream": 7, "bytes": 5000, "correlation": )" +
            std::to_string(id) + "}");
  };
  t.launched("gemm", 9, 5, 100, 25);
  copy("Memcpy PtoP (Device -> Device)", 1, "110");  // 10 us hidden by the product
  t.range("gloo:all_reduce", 19, 5);
  copy("Memcpy DtoH (Device -> Pinned)", 2, "200");
  copy("Memcpy DtoH (Device -> Pinned)", 3, "300");
  const auto s = t.summary();
  CHECK(s.gpu->comm_ns == 20'000);
  CHECK(s.gpu->exposed_comm_ns == 10'000);
  CHECK(s.gpu->mem_ns == 10'000);
  CHECK(s.gpu->comm_kernels == 0);
  REQUIRE(s.collectives);
  REQUIRE(s.collectives->rows.size() == 2);
  CHECK(s.collectives->rows[0].transport != s.collectives->rows[1].transport);
}

}  // namespace nsa::test
