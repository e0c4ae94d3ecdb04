// Workspaces that a project allocates ahead: only for a path that runs, with what they save.
#include <algorithm>

#include "catch.hpp"
#include "decide_support.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/tuner/emit.hpp"

using namespace nsa;
using namespace nsa::tuner;

namespace {

/// A file with one decision, `below` from 1 on and `best` from 256 on, and both reserves.
Emission selected_of(const char* below, const char* best, const ReserveGains& gains = {}) {
  Evidence evidence;
  evidence.median_ratio = 0.8;
  Decision selected;
  selected.stages = {"attend_selected"};
  selected.ranges = {sim::range(0, 256, sim::id(below, "attend_selected")),
                     sim::range(256, std::nullopt, sim::id(best, "attend_selected"))};
  const bool one = std::string(below) == best;
  for (ThresholdRange& range : selected.ranges) {
    const bool lower = range.from == 0;
    evidence.runner_up = std::string("attend_selected/") + (one     ? "varlen_v1"
                                                            : lower ? best
                                                                    : below);
    if (one && std::string(best) == "varlen_v1") evidence.runner_up = "attend_selected/masked";
    evidence.measured_from = lower ? 32 : 256;
    evidence.measured_to = lower ? 128 : 8192;
    range.evidence = evidence;
  }
  ThresholdTable table;
  table.device.backend = Backend::cuda;
  table.device.name = "NVIDIA H200";
  table.device.compute_capability = 90;
  table.classes.resize(1);
  table.classes[0].problem_class.dtype = Dtype::bf16;
  table.classes[0].decisions = {selected};
  table.classes[0].reserves = {4096, 4'194'304, 300, 20'000};
  table.classes[0].reserve_gains = gains;
  const Problem longest = sim::problem_at(8192);
  const Emission e = emit_from_table(find_project("nsa-vibe"), table, table.classes[0],
                                     catalog_traits(Backend::cuda), longest);
  CHECK_NOTHROW(validate_json(emission_json(e), "emitted", "e"));
  return e;
}

bool sets(const Emission& e, const char* variable) { return e.values.contains(variable); }

}  // namespace

TEST_CASE("a workspace is allocated ahead where a path that uses it runs", "[emit]") {
  const Emission masked = selected_of("masked", "masked");
  CHECK(masked.values.at("NSA_FORCE_SEL_MASK") == "1");
  CHECK_FALSE(sets(masked, "NSA_VARLEN_RESERVE_K"));
  CHECK_FALSE(sets(masked, "NSA_VARLEN_RESERVE_N"));
  CHECK_FALSE(sets(masked, "NSA_SEL_PACK_RESERVE_N"));
  CHECK(masked.reserves.empty());

  const Emission v1 = selected_of("varlen_v1", "varlen_v1");
  CHECK(v1.values.at("NSA_VARLEN_RESERVE_N") == "4096");
  CHECK(v1.values.at("NSA_VARLEN_RESERVE_K") == "4194304");
  CHECK_FALSE(sets(v1, "NSA_SEL_PACK_RESERVE_N"));

  const Emission packed = selected_of("packed", "packed");
  CHECK_FALSE(sets(packed, "NSA_VARLEN_RESERVE_N"));
  CHECK(packed.values.at("NSA_SEL_PACK_RESERVE_N") == "300");
  CHECK(packed.values.at("NSA_SEL_PACK_RESERVE_L") == "10000");  // the program's own limit
}

TEST_CASE("where two paths take turns each has its workspace", "[emit]") {
  const Emission e = selected_of("packed", "varlen_v2");
  INFO(env_text(e));
  CHECK(e.values.at("NSA_SEL_VARLEN_MIN_L") == "256");
  CHECK(sets(e, "NSA_VARLEN_RESERVE_K"));
  CHECK(sets(e, "NSA_SEL_PACK_RESERVE_N"));
  // varlen at all lengths: its switch has packed below a minimum that every row reaches
  CHECK_FALSE(sets(selected_of("varlen_v2", "varlen_v2"), "NSA_SEL_PACK_RESERVE_N"));
}

TEST_CASE("above the sizes of a workspace stands what it saves, and where that was measured",
          "[emit]") {
  ReserveGains gains;
  gains.varlen = ReserveGain{1.25e6, 0.5, 6, 5, 1'100'000'000, Axis::seq_len, 128, 8192};
  const Emission e = selected_of("packed", "varlen_v2", gains);
  const std::string text = env_text(e);
  CHECK(text.find("\n\n# workspace of varlen v2, allocated ahead: 1100 MB\n"
                  "#   saves 1.25 ms of a first launch, 0.5 times what a launch takes, faster on 5 "
                  "of 6 problems; "
                  "measured at seq_len 128 to 8192\n"
                  "NSA_VARLEN_RESERVE_N=4096\nNSA_VARLEN_RESERVE_K=4194304\n\n") !=
        std::string::npos);
  // a file of an older version
  CHECK(text.find("# workspace of packed, allocated ahead\n"
                  "#   the file does not tell what that saves\n"
                  "NSA_SEL_PACK_RESERVE_N=300\n") != std::string::npos);
  const Json reserves = emission_json(e)["reserves"];
  CHECK(reserves[0]["bytes"] == 1'100'000'000);
  CHECK_FALSE(reserves[1].contains("measured"));
}
