// Numbers with their units, and the progress line.
#include "nsa/reports/units.hpp"
#include "catch.hpp"
#include "nsa/reports/progress.hpp"

using namespace nsa::reports;

TEST_CASE("times have three digits and the unit that fits", "[reports]") {
  CHECK(format_ns(812) == "812 ns");
  CHECK(format_ns(18304) == "18.3 us");
  CHECK(format_ns(999.6) == "1.00 us");
  CHECK(format_ns(999'600) == "1.00 ms");
  CHECK(format_ns(4'118'000) == "4.12 ms");
  CHECK(format_ns(5e12) == "5000 s");
  CHECK(format_ns(0) == "0 ns");
  CHECK(format_ns(NAN) == "-");
}

TEST_CASE("rates, bytes, shares, ratios and tokens say their unit", "[reports]") {
  CHECK(format_flop_per_s(18.3e9) == "18.3 GFLOP/s");
  CHECK(format_flop_per_s(788e12) == "788 TFLOP/s");
  CHECK(format_bytes(512) == "512 B");
  CHECK(format_bytes(1536) == "1.50 KiB");
  CHECK(format_bytes(150'000'000'000) == "140 GiB");
  CHECK(format_percent(0.0123) == "1.23 %");
  CHECK(format_percent(0.5) == "50.0 %");
  CHECK(format_ratio(1.034) == "1.03x");
  CHECK(format_ratio(0.00556) == "0.00556x");
  CHECK(format_ratio(0.225) == "0.225x");
  CHECK(format_ratio(0.9996) == "1.00x");
  CHECK(format_ratio(12345) == "1.2e+04x");
  CHECK(format_tokens(65536) == "65,536");
  CHECK(format_tokens(-1234567) == "-1,234,567");
  CHECK(format_tokens(999) == "999");
}

TEST_CASE("a duration is in units that a person waits in", "[reports]") {
  CHECK(format_duration(0.34) == "0.34 s");
  CHECK(format_duration(42.4) == "42 s");
  CHECK(format_duration(59.7) == "1 min");
  CHECK(format_duration(450) == "7 min 30 s");
  CHECK(format_duration(3599.7) == "1 h");
  CHECK(format_duration(7980) == "2 h 13 min");
  CHECK(format_duration(820009) == "9.5 days");
  CHECK(format_duration(-1) == "?");
}

TEST_CASE("the time left is in the two units that matter", "[reports]") {
  CHECK(format_seconds_left(0.4) == "0s");
  CHECK(format_seconds_left(59.6) == "1m00s");
  CHECK(format_seconds_left(187) == "3m07s");
  CHECK(format_seconds_left(7500) == "2h05m");
  CHECK(format_seconds_left(-1) == "?");
}

TEST_CASE("the progress line shows bar, count, time left and job", "[reports]") {
  CHECK(progress_line({12, 24, 60, 63.0, "attend_selected seq_len 2048 masked"}, 100) ==
        "[##########..........] 12/24  50 %  1m03s left  attend_selected seq_len 2048 masked");
}

TEST_CASE("without an estimate the time left follows from the share that is done", "[reports]") {
  CHECK(progress_line({1, 4, 10, {}, ""}, 100) == "[#####...............] 1/4  25 %  30s left");
  CHECK(progress_line({0, 4, 10, {}, ""}, 100) == "[....................] 0/4  0 %");
}

TEST_CASE("the progress line stays within its columns and within its counts", "[reports]") {
  CHECK(progress_line({12, 24, 60, 63.0, "attend_selected"}, 40) ==
        "[##########..........] 12/24  50 %  1...");
  CHECK(progress_line({9, 4, 10, 0.0, ""}, 100) == "[####################] 4/4  100 %  0s left");
  CHECK(progress_line({0, 0, 0, {}, "a\nb"}, 100) == "[####################] 0/0  100 %  a?b");
}
