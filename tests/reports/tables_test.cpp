// Thresholds, devices, variants, explain() and the generated Markdown.
#include "nsa/reports/tables.hpp"
#include "golden.hpp"
#include "nsa/reports/variants_text.hpp"
#include "nsa/schemas/json.hpp"

using namespace nsa;
using namespace nsa::reports;

namespace {

Evidence evidence(const std::string& runner_up, double ratio) {
  Evidence e;
  e.runner_up = runner_up;
  e.median_ratio = ratio;
  e.ratio_low = ratio * 0.98;
  e.ratio_high = ratio * 1.02;
  e.expected_regret = 0.0004;
  e.pairs = 24;
  return e;
}

ThresholdTable thresholds() {
  ThresholdTable table;
  table.device.name = "NVIDIA H200";
  ClassDecisions of;
  Decision selected;
  selected.stages = {"attend_selected"};
  selected.ranges.resize(2);
  selected.ranges[0].to = 800;
  selected.ranges[0].variant = {{"attend_selected"}, "masked", {}};
  selected.ranges[0].evidence = evidence("attend_selected/fused_query.bq=64.st=3", 0.81);
  selected.ranges[1].from = 800;
  selected.ranges[1].variant = {{"attend_selected"}, "fused_query", {{"bq", 64}, {"st", 3}}};
  selected.ranges[1].evidence = evidence("attend_selected/masked", 0.43);
  selected.ranges[1].evidence.from_low = 760;
  selected.ranges[1].evidence.from_high = 850;
  Decision ranges;
  ranges.stages = {"ranges"};
  ranges.ranges.resize(1);
  ranges.ranges[0].variant = {{"ranges"}, "ranges_v2", {}};
  ranges.ranges[0].evidence.unverified = true;
  ranges.ranges[0].evidence.pairs = 8;
  of.decisions = {ranges, selected};
  of.flat.sel_ranges_v2_min_s = FlatValue::always();
  of.flat.fa2_min_len_win = FlatValue::never();
  of.flat.sel_varlen_min_l = FlatValue::from(640);
  of.flat.sel_pack_reserve_n = 128;
  of.flat.lossy = true;
  of.dense_break_even = DenseBreakEven{4096, Axis::seq_len, "attention/dense", 65536, 0.21};
  table.classes = {of};
  return table;
}

ExplainReport explained() {
  ExplainReport r;
  r.device.name = "NVIDIA H200";
  r.device.id = "cuda:0";
  r.device_fit = DeviceFit::exact;
  r.table_path = "t.json";
  Explanation tuned;
  tuned.stages = {Stage::attend_selected};
  tuned.axis_value = 2048;
  tuned.variant = "attend_selected/fused_query.bq=64.st=3";
  tuned.source = Source::thresholds;
  tuned.fit = Fit::nearest_bin;
  tuned.device_fit = DeviceFit::exact;
  tuned.why = "seq_len [800, ...) of t.json";
  tuned.evidence = evidence("attend_selected/masked", 0.43);
  Explanation forced;
  forced.stages = {Stage::ranges};
  forced.axis_value = 2048;
  forced.variant = "ranges/ranges_v1";
  forced.source = Source::environment;
  forced.why = "NSA_SEL_RANGES_V2=0";
  forced.overridden = "ranges/ranges_v2";
  forced.overridden_source = Source::thresholds;
  forced.override_cost = 2.31;
  r.decisions = {forced, tuned};
  r.reserves.varlen_reserve_n = 4096;
  r.validators = {{"driver", "570.1", "580.95", Holds::no}, {"mig", "", "", Holds::unknown}};
  r.names = {{"NSA_SEL_RANGES_V2", "0", true, "changes ranges"},
             {"NSA_STRICT_ASSERTS", "1", false, "no effect: nothing here asserts"}};
  r.warnings = {"NSA_SEL_RANGE_V2 is unknown; did you mean NSA_SEL_RANGES_V2?"};
  return r;
}

}  // namespace

TEST_CASE("the thresholds are printed with evidence, break-even and flat view", "[reports]") {
  CHECK_GOLDEN("thresholds_table.txt", thresholds_table(thresholds(), {}));
}

TEST_CASE("an empty or incomplete table says so", "[reports]") {
  ThresholdTable table;
  table.device.name = "x";
  table.complete = false;
  CHECK(thresholds_table(table, {}) ==
        "thresholds of nsatune for x, from a run that was cut short\nno decision\n");
  ThresholdTable undecided = thresholds();
  undecided.complete = false;
  undecided.classes[0].decisions[0].ranges[0].basis = Basis::undecided;
  CHECK(thresholds_table(undecided, {}).find(", some ranges undecided\n") != std::string::npos);
}

TEST_CASE("explain says what runs, why, and what an override costs", "[reports]") {
  CHECK_GOLDEN("explain.txt", explain_text(explained(), {}));
}

TEST_CASE("a reason that several variants share is said once", "[reports]") {
  ExplainReport report = explained();
  report.decisions[0].why =
      "no variant runs this: batched stores bf16, not fp64; dense stores bf16, not fp64; layers "
      "start empty; `run` times steps; layers start empty; `run` times steps";
  const std::string tuned = report.decisions[1].why;
  report = with_reasons_once(std::move(report));
  CHECK(report.decisions[0].why ==
        "no variant runs this: batched, dense: stores bf16, not fp64; layers start empty; `run` "
        "times steps");
  CHECK(report.decisions[1].why == tuned);
}

TEST_CASE("what was not tuned is not called so where something replaces it", "[reports]") {
  ExplainReport report = explained();
  CHECK(explain_text(report, {}).find("replaces the tuned ranges") != std::string::npos);
  report.decisions[0].overridden_source = Source::built_in;
  CHECK(explain_text(report, {}).find("replaces ranges") != std::string::npos);
}

TEST_CASE("colour adds codes and changes no letter of explain", "[reports]") {
  std::string colored = explain_text(explained(), {.color = true});
  CHECK(colored.find("\033[33moverride: ") != std::string::npos);
  for (std::size_t at; (at = colored.find('\033')) != std::string::npos;) {
    colored.erase(at, colored.find('m', at) - at + 1);
  }
  CHECK(colored == explain_text(explained(), {}));
}

TEST_CASE("devices show what was read and a dash for what was not", "[reports]") {
  Device cpu;
  cpu.name = "AMD EPYC 9654 (2 cores)";
  cpu.multiprocessors = 2;
  cpu.memory_bytes = 8LL << 30;
  cpu.isa = "avx512f";
  Device gpu;
  gpu.id = "cuda:0";
  gpu.name = "NVIDIA H200";
  gpu.compute_capability = 90;
  gpu.multiprocessors = 132;
  gpu.memory_bytes = 150'000'000'000;
  gpu.max_clock_mhz = 1980;
  gpu.driver = "580.95";
  const std::vector<Device> devices{cpu, gpu};
  const std::vector<Capability> libraries{
      {"OpenBLAS", true, "0.3.21", ""},
      {"cuDNN", false, "", "libcudnn.so.9 was not found; install libcudnn9-cuda-13"}};
  CHECK_GOLDEN("devices_table.txt", devices_table(devices, libraries, {}));
}

TEST_CASE("variants show their state on each device, with the reason", "[reports]") {
  const Json rows = Json::parse(R"([
    {"stages":["attend_selected"],"name":"fused_query","backend":"cpu","role":"candidate",
     "direction":"forward","saves":["lse_sel"],"coordinates":{"bq":[32,64],"st":[3]},
     "devices":[{"device":"cpu","state":"available","reason":""}]},
    {"stages":["attend_selected"],"name":"masked","backend":"cuda","role":"candidate",
     "direction":"backward","saves":[],"coordinates":{},
     "devices":[{"device":"cuda:0","state":"not_built","reason":"configure with NSA_CUDA=ON"},
                {"device":"cuda:1","state":"unsupported","reason":"needs 8.0"}]},
    {"stages":["score","ranges"],"name":"streamed","backend":"cuda","role":"slow_path",
     "direction":"forward","saves":[],"coordinates":{},"devices":[]}])");
  CHECK_GOLDEN("variants_table.txt", variants_table(rows, {}));
}

TEST_CASE("the Markdown of the catalog has a table for each stage", "[reports]") {
  static constexpr Stage kSelected[] = {Stage::attend_selected};
  static constexpr Stage kSpan[] = {Stage::score, Stage::ranges};
  static constexpr std::int64_t kTiles[] = {32, 64};
  static constexpr Coordinate kPoint[] = {{"bq", kTiles}};
  Variant masked;
  masked.stages = kSelected;
  masked.name = "masked";
  masked.dtypes = dtype_bit(Dtype::fp32) | dtype_bit(Dtype::bf16);
  masked.summary = "Dense attention with a mask of the selected blocks | exact";
  Variant ranges = masked;
  ranges.name = "ranges";
  ranges.backend = Backend::cuda;
  ranges.role = Role::slow_path;
  ranges.min_compute_capability = 80;
  ranges.coordinates = kPoint;
  ranges.summary = "One launch a row";
  Variant fused = masked;
  fused.stages = kSpan;
  fused.name = "streamed";
  fused.role = Role::baseline;
  const std::vector<Variant> variants{masked, ranges, fused};
  CHECK_GOLDEN("variants.md", variants_markdown(variants));
}

TEST_CASE("docs/variants.md shows the table of this build", "[reports]") {
  INFO("after a change of the table run: nsatune variants --markdown > docs/variants.md");
  CHECK(read_text_file(std::string(NSA_SOURCE_DIR) + "/docs/variants.md") ==
        variants_markdown(catalog()));
}
