// What `db counters` prints of a counted launch.
#include <algorithm>

#include "catch.hpp"
#include "nsa/reports/launch_text.hpp"
#include "text.hpp"

using namespace nsa;
using test::contains;

namespace {

LaunchCountersRow some_row() {
  LaunchCountersRow row;
  row.variant = {{"attend_selected"}, "mine", {{"bq", 64}}};
  row.problem.seq_lens = {2048};
  row.problem.context_lens = {0};
  row.counters.dram_share = 0.815;
  row.counters.tensor_share = 0.0321;
  row.counters.dram_read_bytes = 268435456;
  row.counters.busy_ns = 131'000;
  row.counters.note = "not counted: L2's share of its peak";
  return row;
}

}  // namespace

TEST_CASE("a counted launch is printed with its shares, its bytes and what was not read",
          "[reports]") {
  const std::string text = reports::launch_counters_text(some_row());
  for (const char* part :
       {"attend_selected/mine.bq=64", "seq_len 2048", " cold\n", "busy 131 us: DRAM 81.5 %, L2 -,",
        "tensor pipes 3.21 % of their peaks", "DRAM read 256 MiB, written -\n",
        "  not counted: L2's share of its peak\n"}) {
    CAPTURE(part, text);
    CHECK(contains(text, part));
  }
}

TEST_CASE("a launch that was not counted is printed with the reason and without numbers",
          "[reports]") {
  LaunchCountersRow row = some_row();
  row.outcome = Outcome::unsupported;
  row.reason = "administrators only\x1b[2J\nattend_selected/forged";
  row.cold = false;
  const std::string text = reports::launch_counters_text(row);
  CHECK(contains(text, " warm\n  unsupported: administrators only?[2J?attend_selected/forged\n"));
  CHECK_FALSE(contains(text, "81.5"));
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
}
