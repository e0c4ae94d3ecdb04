// Rules over traces: copies with the host, and heads that are copied.
#include "nsa/reports/doctor_text.hpp"
#include "trace_rules.hpp"

namespace nsa::test {
namespace {

JsonTrace copied(double copy_start_us) {
  JsonTrace t;
  t.launched("before", 1, 0, 10, 100);
  t.call("cudaMemcpyAsync", 2, 5, 2);
  t.event("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", std::to_string(copy_start_us), "300",
          R"(, "args": {"device": 0, "stream": 20, "correlation": 2, "bytes": 64})");
  t.call("cudaStreamSynchronize", 3, 8, 500);
  t.launched("after", 4, 510, 520, 100);
  return t;
}

/// Ten times 20 us of repeat_interleave within attention, with these inputs.
JsonTrace repeating(const std::string& inputs) {
  JsonTrace t;
  for (int i = 0, id = 1; i < 10; ++i, id += 2) {
    const double at = 100.0 * i;
    t.range("CausalSelfAttention.forward", at, 50);
    t.op("aten::repeat_interleave", at + 1, 20, inputs);
    t.op("aten::repeat_interleave", at + 2, 10, inputs);  // which calls itself
    t.launched("copy", id, at + 5, at + 10, 20).launched("gemm", id + 1, at + 25, at + 30, 79);
  }
  return t;
}

}  // namespace

TEST_CASE("heads are copied where K or V are, at the cost of that", "[doctor]") {
  for (const char* inputs : {R"("Input Dims": [[2, 4, 512, 64], []], "Input type": ["float", ""])",
                             R"("Input Dims": [[2, 512, 64]], "Input type": ["c10::Half"])", ""}) {
    CAPTURE(inputs);
    const doctor::Report report = report_of(repeating(inputs));
    const doctor::Found* one = found(report, "trace_heads_copied");
    REQUIRE(one);
    CHECK(one->facts.front().count == 10);
    CHECK(one->gain.at_most_ns == 200'000);
  }
  for (const char* inputs : {R"("Input Dims": [[4]], "Input type": ["long"])",
                             R"("Input Dims": [[2, 4, 512]], "Input type": ["long int"])",
                             R"("Input Dims": [[2, 512]], "Input type": ["float"])"}) {
    CAPTURE(inputs);
    CHECK_FALSE(found(report_of(repeating(inputs)), "trace_heads_copied"));
  }
}

TEST_CASE("copies are seen by whatever name their recorder gives them", "[doctor]") {
  for (const char* name :
       {"Memcpy HtoD (Pageable -> Device)", "CopyHostToDevice", "CopyDeviceToHost",
        "[CUDA memcpy Device-to-Host]", "[CUDA memcpy HtoD]"}) {
    CAPTURE(name);
    const doctor::Report report = report_of(waiting("hipMemcpyWithStream", name));
    REQUIRE(found(report, "trace_host_copies"));
    CHECK(found(report, "trace_host_copies")->facts.front().count == 20);
  }
  CHECK_FALSE(
      found(report_of(waiting("hipMemcpyWithStream", "CopyDeviceToDevice")), "trace_host_copies"));
  const auto to_do = [](const char* name) {
    return advice(report_of(waiting("hipMemcpyWithStream", name)), "trace_host_syncs");
  };
  CHECK(to_do("CopyHostToDevice").starts_with("pin "));
  CHECK(to_do("CopyDeviceToHost").starts_with("copy into pinned memory"));
}

TEST_CASE("copies beside kernels of another stream win at least what is said", "[doctor]") {
  const doctor::Report beside = report_of(copied(100));  // 10 us beside the kernel before
  REQUIRE(found(beside, "trace_host_copies"));
  CHECK(found(beside, "trace_host_copies")->gain.at_least);
  CHECK(reports::doctor_text(beside, {}).find("gain  at least ") != std::string::npos);
  const doctor::Report alone = report_of(copied(120));
  REQUIRE(found(alone, "trace_host_copies"));
  CHECK_FALSE(found(alone, "trace_host_copies")->gain.at_least);
  CHECK(reports::doctor_text(alone, {}).find("gain  at least ") == std::string::npos);
}

TEST_CASE("copies with the host are not blamed for those within the device", "[doctor]") {
  JsonTrace t;
  for (int step = 0, id = 1; step < 10; ++step, id += 3) {
    const double at = 500.0 * step;
    t.launched("gemm", id, at, at + 10, 400);
    t.call("cudaMemcpyAsync", id + 1, at + 5, 2);
    t.event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", std::to_string(at + 20), "300",
            R"(, "args": {"device": 0, "stream": 20, "correlation": )" + std::to_string(id + 1) +
                R"(, "bytes": 64})");
    t.call("cudaMemcpyAsync", id + 2, at + 8, 2);
    t.event("gpu_memcpy", "Memcpy DtoD (Device -> Device)", std::to_string(at + 410), "95",
            R"(, "args": {"device": 0, "stream": 7, "correlation": )" + std::to_string(id + 2) +
                R"(, "bytes": 64})");
  }
  CHECK_FALSE(found(report_of(t), "trace_host_copies"));
}

}  // namespace nsa::test
