// The C++ header compiles, and says of every length what the table says.
#include <cstdlib>
#include <fstream>

#include "../schemas/filled.hpp"
#include "../store/support.hpp"
#include "catch.hpp"
#include "nsa/exchange/exchange.hpp"

namespace nsa::exchange {
namespace {

/// Whether the host's compiler takes a program of `header` and `checks`, warnings being errors.
bool compiles(const std::string& header, const std::string& checks = "") {
  const test::TempFolder folder;
  std::ofstream(folder.file("tuned.hpp")) << header;
  std::ofstream(folder.file("a.cpp")) << "#include \"tuned.hpp\"\n" << checks;
  const std::string command = std::string("'") + NSA_HOST_CXX +
                              "' -std=c++20 -Wall -Wextra -Werror -fsyntax-only '" +
                              folder.file("a.cpp") + "' >'" + folder.file("out") + "' 2>&1";
  const int status = std::system(command.c_str());
  UNSCOPED_INFO(read_text_file(folder.file("out")));
  return status == 0;
}

const std::string kFunction =
    "nsa::tuned::backward_chunked_prefill_bf16_64_4_heads_192_128_l16_d8_sel32_n8_w256_"
    "batch_2_4_overlap_high::attend_selected_graph";

/// A check that the header maps the length to the variant, "" being none.
std::string maps(const std::string& length, const std::string& variant) {
  return "static_assert(" + kFunction + "(" + length + ") == \"" + variant + "\");\n";
}

TEST_CASE("the header compiles and maps lengths as the table does", "[exchange]") {
  const std::string header = thresholds_header(test::filled_table());
  CHECK(compiles(header, maps("0", "attend_selected/masked") +
                             maps("511", "attend_selected/masked") +
                             maps("512", "attend_selected/fused_query.bq=64")));
  CHECK_FALSE(compiles(header, maps("511", "attend_selected/fused_query.bq=64")));
}

TEST_CASE("a length beyond all ranges has no variant", "[exchange]") {
  ThresholdTable table = test::filled_table();
  table.classes[0].decisions[0].ranges[1].to = 4096;
  const std::string header = thresholds_header(table);
  CHECK(compiles(header, "static_assert(" + kFunction + "(4097).empty());\n"));
}

TEST_CASE("a length in a gap between ranges has no variant", "[exchange]") {
  ThresholdTable table = test::filled_table();
  table.classes[0].decisions[0].ranges[0].to = 300;
  table.classes[0].decisions[0].alignment.reset();
  const std::string header = thresholds_header(table);
  CHECK(compiles(header, maps("299", "attend_selected/masked") + maps("300", "") + maps("511", "") +
                             maps("512", "attend_selected/fused_query.bq=64")));
}

TEST_CASE("multiples of the alignment go by its ranges alone", "[exchange]") {
  ThresholdTable table = test::filled_table();
  Decision& decision = table.classes[0].decisions[0];
  ThresholdRange apart = decision.ranges[0];
  apart.from = 1024;
  apart.to = 2048;
  apart.variant.name = "packed";
  decision.alignment = Alignment{128, {apart}};
  const std::string header = thresholds_header(table);
  CHECK(compiles(header, maps("1024", "attend_selected/packed") +
                             maps("1025", "attend_selected/fused_query.bq=64") + maps("896", "") +
                             maps("2048", "") + maps("2049", "attend_selected/fused_query.bq=64")));
}

TEST_CASE("the shipped thresholds are a header that compiles", "[exchange]") {
  const auto table =
      load_thresholds(std::string(NSA_SOURCE_DIR) + "/kernels/tuned/nvidia_h200.json");
  CHECK(compiles(thresholds_header(table)));
}

TEST_CASE("names of devices cannot end a comment or a text", "[exchange]") {
  ThresholdTable table = test::filled_table();
  table.device.name = "evil\n#error \"x\\";
  table.created_by = "a\\\n#error b";
  CHECK(compiles(thresholds_header(table)));
}

}  // namespace
}  // namespace nsa::exchange
