// What moves data between GPUs, by the names of kernels and copies; sizes of messages and
// bandwidths.
#include "catch.hpp"

#include "analyse/communication/message.hpp"
#include "analyse/communication/patterns.hpp"

namespace nsa::test {
namespace {

using trace::comm_of_kernel;

}  // namespace

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

}  // namespace nsa::test
