// Real traces, and the document of --json. check_summary.py compares the figures.
#include <cstdlib>
#include <filesystem>

#include "catch.hpp"
#include "nsa/trace/summary_json.hpp"
#include "traces.hpp"

namespace nsa::test {

TEST_CASE("the document obeys its schema, with and without a GPU", "[trace]") {
  const auto check = [](const JsonTrace& t) {
    validate_json(trace::to_document(t.summary()), "trace_summary", "test");
  };
  CHECK_NOTHROW(check(JsonTrace()));
  CHECK_NOTHROW(check(JsonTrace().range("ProfilerStep#1", 0, 5)));
  CHECK_NOTHROW(check(JsonTrace()
                          .range("ProfilerStep#1", 0, 5)
                          .range("score", 1, 2)
                          .launched("flash_fwd_kernel", 1, 1, 2, 1)
                          .call("cudaStreamSynchronize", 2, 3, 1)));
}

TEST_CASE("every figure that is null has its reason", "[trace]") {
  for (const JsonTrace& t : {JsonTrace(), JsonTrace().kernel("k", 0, 0, 1),
                             JsonTrace().range("aten::add", 0, 1, 1, "cpu_op"),
                             JsonTrace().call("cudaMalloc", 1, 0, 1)}) {
    const Json document = trace::to_document(t.summary());
    for (const auto& [key, value] : document.items()) {
      CAPTURE(key);
      CHECK(value.is_null() == document["null_reasons"].contains(key));
    }
  }
}

TEST_CASE("real traces are read, and the same bytes say the same", "[trace]") {
  const char* data = std::getenv("NSATUNE_EXTERNAL_DATA");
  if (!data) {
    WARN("skipped: NSATUNE_EXTERNAL_DATA is not set");
    return;
  }
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(data) + "/traces")) {
    CAPTURE(entry.path().string());
    const Json first =
        trace::to_document(trace::summarize(trace::read_trace(entry.path().string())));
    const Json again =
        trace::to_document(trace::summarize(trace::read_trace(entry.path().string())));
    CHECK(first == again);
    CHECK_NOTHROW(validate_json(first, "trace_summary", entry.path().string()));
    ++files;
  }
  CHECK(files >= 7);
}

}  // namespace nsa::test
