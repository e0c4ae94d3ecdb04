// What moves data between GPUs: found by its name, matched over ranks, timed, and who was late.
#include "catch.hpp"

#include "../cli/program.hpp"
#include "analyse/communication/message.hpp"
#include "analyse/communication/patterns.hpp"
#include "nsa/trace/merge.hpp"
#include "nsa/trace/summary_json.hpp"
#include "nsa/trace/write.hpp"
#include "spool_builder.hpp"
#include "traces.hpp"

namespace nsa::test {
namespace {

using trace::comm_of_kernel;

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

TEST_CASE("kernels and copies that move data between GPUs are known by a table", "[trace]") {
  struct Row {
    const char *name, *transport, *collective;
  };
  for (const Row& row : {
           Row{"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<(unsigned "
               "long)4096>)",
               "nccl", "all_reduce"},
           Row{"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)",
               "nccl", "send_recv"},
           Row{"ncclDevKernel_ReduceScatter_Sum_f16_RING_LL", "nccl", "reduce_scatter"},
           Row{"ncclDevKernel_AllGather_RING_LL", "nccl", "all_gather"},
           Row{"ncclDevKernel_Generic_4(ncclDevKernelArgs)", "nccl", "other"},
           Row{"void rcclGenericKernel<1, false>(ncclDevKernelArgsStorage<4096ul>)", "nccl",
               "other"},
           Row{"mscclKernel_Sum_half_LL_false", "msccl", "other"},
           Row{"void mscclpp::allreduce7<__half>(...)", "mscclpp", "all_reduce"},
           Row{"void (anonymous namespace)::multimem_one_shot_all_reduce_kernel<c10::BFloat16, 16>"
               "(c10::BFloat16*)",
               "symmetric_memory", "all_reduce"},
           Row{"void multimem_all_gather_kernel<16>(char*)", "symmetric_memory", "all_gather"},
           Row{"void two_shot_all_reduce_kernel<float, 16, 8>(float**)", "custom", "all_reduce"},
           Row{"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)", "custom",
               "all_reduce"},
           Row{"void sglang::cross_device_reduce_2stage<half, 8>(sglang::RankData*)", "custom",
               "all_reduce"},
           Row{"void tensorrt_llm::kernels::oneShotAllReduceKernel<__half, 8, false>(...)",
               "custom", "all_reduce"},
           Row{"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport"
               "<0, __nv_bfloat16, 8>(...)",
               "custom", "all_reduce"},
           Row{"void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)", "deep_ep", "all_to_all"},
           Row{"void nvshmemi_transfer_put_kernel(void*)", "nvshmem", "other"},
           Row{"nvshmemx_barrier_all_on_stream_kernel", "nvshmem", "barrier"},
           Row{"void kuserbuffers_pullrecv(int, int)", "userbuffers", "recv"},
       }) {
    CAPTURE(row.name);
    const auto found = comm_of_kernel(row.name);
    REQUIRE(found);
    CHECK(found->transport == row.transport);
    CHECK(found->collective == row.collective);
  }
  for (const char* name :
       {"void at::native::reduce_kernel<512, 1>", "triton_poi_fused_all_reduce_add_3",
        "triton_red_fused_all_gather_into_tensor_2", "void flux::gemm_allreduce_kernel<128>",
        "void at::native::_scatter_gather_elementwise_kernel<128, 8>", "sgemm",
        "void at::native::vectorized_gather_kernel<16, long>",
        "void cub::DeviceReduceKernel<cub::Sum>"}) {
    CAPTURE(name);
    CHECK_FALSE(comm_of_kernel(name));
  }
  CHECK(trace::comm_of_copy("Memcpy PtoP (Device -> Device)"));
  CHECK_FALSE(trace::comm_of_copy("Memcpy DtoD (Device -> Device)"));
}

TEST_CASE("bandwidth over the bus is what nccl-tests make of it", "[trace]") {
  using trace::bus_factor;
  CHECK(bus_factor("all_reduce", 8) == 2 * 7.0 / 8);
  CHECK(bus_factor("all_gather", 8) == 7.0 / 8);
  CHECK(bus_factor("reduce_scatter", 4) == 3.0 / 4);
  CHECK(bus_factor("all_to_all", 2) == 1.0 / 2);
  CHECK(bus_factor("broadcast", 8) == 1.0);
  CHECK_FALSE(bus_factor("all_reduce", 1));
  CHECK_FALSE(bus_factor("all_reduce", std::nullopt));
  CHECK_FALSE(bus_factor("other", 8));
}

TEST_CASE("the size of a message is that of nccl-tests, of every spelling", "[trace]") {
  const auto bytes = [](const std::string& name, int in, int out, const std::string& dtype) {
    return trace::message_of("\"Collective name\": \"" + name +
                                 "\", \"In msg nelems\": " + std::to_string(in) +
                                 ", \"Out msg nelems\": \"" + std::to_string(out) +
                                 "\", \"Group size\": 4, \"dtype\": \"" + dtype + "\"",
                             "")
        ->bytes;
  };
  CHECK(bytes("allreduce", 10, 10, "BFloat16") == 20);
  CHECK(bytes("_allgather_base", 10, 40, "Float") == 160);
  CHECK(bytes("allgather", 10, 0, "Float") == 160);
  CHECK(bytes("_reduce_scatter_base", 40, 10, "Half") == 80);
  CHECK(bytes("all_to_allv", 30, 40, "Byte") == 40);
  CHECK(bytes("broadcast", 7, 7, "Double") == 56);
  CHECK(bytes("scatter", 0, 10, "Float") == 160);
  CHECK_FALSE(bytes("allreduce", 10, 10, "Undefined"));
  const auto old = trace::message_of(R"("Input Dims": [[3, 5]], "Input type": ["c10::BFloat16"])",
                                     "nccl:all_reduce");
  REQUIRE(old);
  CHECK(old->collective == "all_reduce");
  CHECK(old->bytes == 30);
  CHECK_FALSE(trace::message_of(R"("Input Dims": [[3, 5]])", "aten::mm"));
}

TEST_CASE("NCCL counts the bytes of one rank, and the size of a message is that of nccl-tests",
          "[trace]") {
  const std::string known = R"("Message size [bytes]":1000,"NCCL communicator ID":"00ab")";
  const auto bytes = [&](const std::string& range) {
    return trace::message_of(known + ",\"Group size\":4", range)->bytes;
  };
  CHECK(bytes("ncclAllReduce") == 1000);
  CHECK(bytes("ncclBroadcast") == 1000);
  CHECK(bytes("ncclReduce") == 1000);
  CHECK(bytes("ncclSend") == 1000);
  CHECK(bytes("ncclAllGather") == 4000);
  CHECK(bytes("ncclReduceScatter") == 4000);
  CHECK(bytes("ncclAlltoAll") == 4000);
  const auto alone = trace::message_of(known, "ncclAllGather");
  REQUIRE(alone);
  CHECK_FALSE(alone->bytes);  // of how many ranks?
  CHECK(alone->group == "00ab");
  CHECK(trace::message_of(known, "ncclAllReduce")->bytes == 1000);
  CHECK_FALSE(trace::message_of(known, "my own range"));
  CHECK_FALSE(trace::message_of("", "ncclGroupEnd"));
}

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

TEST_CASE("what an old file gathers is said by the operator, for its group", "[trace]") {
  const char* inputs = R"("Input Dims":[[16777216]],"Input type":["signed char"])";
  CHECK_FALSE(trace::message_of(inputs, "nccl:_all_gather_base")->bytes);  // of how many ranks?
  CHECK(trace::message_of(inputs, "nccl:all_reduce")->bytes == std::int64_t{1} << 24);
  CHECK(trace::message_of(inputs, "nccl:all_reduce")->dtype == "signed char");
  const auto gathered = trace::message_of(
      R"("Input Dims":[[1073741824],[16777216],[]],"Input type":["signed char","signed char",""])",
      "c10d::_allgather_base_");
  REQUIRE(gathered);
  CHECK(gathered->bytes == std::int64_t{1} << 30);
  CHECK(gathered->group_size == 64);
  CHECK(gathered->dtype == "signed char");
  for (const char* odd : {R"("Input Dims":[[100],[16],[]],"Input type":["float","float",""])",
                          R"("Input Dims":[[16],[0],[]],"Input type":["float","float",""])",
                          R"("Input Dims":[[16],[4]],"Input type":["float","opaque"])",
                          R"("Input Dims":[[16],[4]],"Input type":["float"])"})
    CHECK_FALSE(trace::message_of(odd, "c10d::_allgather_base_"));
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
  CHECK(c.longest_waits[0].last_rank == 1);
  CHECK(c.longest_waits[0].spread_ns == 300'000);
  CHECK_NOTHROW(validate_json(trace::to_document(s), "trace_summary", "test"));
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
