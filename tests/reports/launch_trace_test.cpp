// What `db traces` prints of a traced launch.
#include <algorithm>

#include "catch.hpp"
#include "nsa/reports/launch_text.hpp"

using namespace nsa;

namespace {

LaunchTraceRow some_row() {
  LaunchTraceRow row;
  row.variant = {{"attend_selected"}, "mine", {{"bq", 64}}};
  row.problem.seq_lens = {2048};
  row.problem.context_lens = {0};
  row.trace.launches = 2;
  row.trace.busy_ns = 18'304;
  row.trace.span_ns = 20'000;
  row.trace.note = "the timers differ";
  row.trace.kernels = {{"first_kernel", 1, 10'304}, {"second_kernel", 3, 8'000}};
  return row;
}

}  // namespace

TEST_CASE("a traced launch is printed with each of its kernels", "[reports]") {
  const std::string text = reports::launch_trace_text(some_row());
  for (const char* part : {"attend_selected/mine.bq=64", "seq_len 2048", "2 launches",
                           "busy 18.3 of 20.0 us", "the timers differ", "1 x       10.3 us",
                           "first_kernel", "3 x        8.0 us", "second_kernel"}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
  CHECK(text.find("records were lost") == std::string::npos);
}

TEST_CASE("names that a worker gave can neither move the cursor nor add a line", "[reports]") {
  const std::string evil = "\x1b]0;x\x07\n\x1b[2J\xc2\x9b";
  LaunchTraceRow row = some_row();
  const std::string calm = reports::launch_trace_text(row);
  row.variant.name += evil;
  row.trace.note += evil;
  for (TracedKernel& kernel : row.trace.kernels) kernel.name += evil;
  const std::string text = reports::launch_trace_text(row);
  CHECK(std::count(text.begin(), text.end(), '\n') == std::count(calm.begin(), calm.end(), '\n'));
  CHECK(std::none_of(text.begin(), text.end(), [](char c) {
    return c != '\n' && (static_cast<unsigned char>(c) < 0x20 || c == '\x7f');
  }));
  CHECK(text.find("\xc2\x9b") == std::string::npos);
}
