#include "nsa/run_tables/tables.hpp"

#include <array>

#include "catch.hpp"
#include "cells.hpp"
#include "nsa/run_tables/scaling.hpp"

namespace nsa::test {

using namespace run_tables;

TEST_CASE("numbers have groups of three digits", "[reports]") {
  CHECK(grouped(1087534.4) == "1,087,534");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(2.345) == "2.35");
}

TEST_CASE("a branch that is slower than all of them says what it runs beside", "[reports]") {
  Cell whole = cell_of("all branches", {1, 1}), part = cell_of("selected only", {2, 2});
  whole.ran = {{"attend_compressed+score", "fused"}, {"attend_selected", "fused_query"}};
  part.ran = {{"score", "materialised"}, {"attend_selected", "fused_query"}};
  part.asked.flags = {"--branches", "sel"};
  CHECK(why_slower(part, whole) ==
        "runs score/materialised of its own, where the whole has attend_compressed+score/fused");
  const std::array cells{whole, part};
  CHECK(cells_table(cells, "all branches", {}).find("slower than the whole:") != std::string::npos);
}

TEST_CASE("a part that is faster, or no part, has nothing to explain", "[reports]") {
  Cell whole = cell_of("all branches", {2, 2}), part = cell_of("window only", {1, 1});
  part.asked.flags = {"--branches", "win"};
  CHECK(why_slower(part, whole).empty());
  CHECK(why_slower(cell_of("sequential", {9, 9}), whole).empty());
}

TEST_CASE("a cell that ran out of time is a row with its reason", "[reports]") {
  Cell late = cell_of("v1", {});
  late.status = Status::timeout;
  late.reason = "over 30 s";
  const std::array cells{late};
  CHECK(cells_table(cells, "", {}).find("timeout: over 30 s") != std::string::npos);
}

TEST_CASE("the alarm rings only where the whole interval is above 1.3", "[reports]") {
  ScalingRow row;
  row.slope = 1.5, row.low = 1.31, row.high = 1.7;
  CHECK(alarms(row));
  row.low = 1.29;
  CHECK_FALSE(alarms(row));
  CHECK_FALSE(alarms({}));
}

}  // namespace nsa::test
