#include "filled.hpp"

namespace nsa::test {

Problem filled_problem() {
  Problem p;
  p.direction = Direction::backward;
  p.phase = Phase::chunked_prefill;
  p.seq_lens = {100, 37};
  p.context_lens = {512, 64};
  p.q_heads = 64;
  p.kv_heads = 4;
  p.head_dim_k = 192;
  p.head_dim_v = 128;
  p.geometry = {16, 8, 32, 8, 256};
  p.dtype = Dtype::bf16;
  p.selection = {SelectionPattern::smooth, 0.95};
  p.model = {2560, 30, 32000};
  return p;
}

VariantId filled_variant() {
  return {{"score", "attend_selected"}, "fused", {{"st", 3}, {"bq", 64}}};
}

Device filled_device() {
  Device d;
  d.id = "cuda:1";
  d.backend = Backend::cuda;
  d.name = "Fictional GPU";
  d.uuid = "GPU-00000000-1111-2222-3333-444444444444";
  d.compute_capability = 90;
  d.multiprocessors = 132;
  d.memory_bytes = 150'000'000'000;
  d.memory_free_bytes = 140'000'000'000;
  d.l2_bytes = 52'428'800;
  d.power_limit_w = 700.5;
  d.max_clock_mhz = 1980;
  d.mig = false;
  d.ecc = true;
  d.isa = "none";
  d.driver = "580.95";
  d.runtime = "13.0";
  return d;
}

Measurement filled_measurement() {
  Measurement m;
  m.id = "11111111-2222-4333-8444-555555555555";
  m.run_id = "66666666-7777-4888-9999-aaaaaaaaaaaa";
  m.job_key = "0123456789abcdef";
  m.executor = "triton";
  m.placement = {{"host-a", "GPU-0"}, {"host-b", "GPU-1"}};
  m.problem = filled_problem();
  m.variant = filled_variant();
  m.source_hash = "9f2c";
  m.process = 1;
  m.round = 2;
  m.position = 3;
  m.pair_id = "pair";
  m.control = true;
  m.held_out = true;
  m.launch = LaunchMode::graph;
  m.timer = Timer::cupti;
  m.cold = false;
  m.outcome = Outcome::noisy;
  m.reason = "the clock fell";
  m.note = "the timers differ";
  m.verification = Verification::verified;
  m.worst_row_error = 0.0031;
  m.first_call_ns = 48211;
  m.workspace_bytes = 1 << 20;
  m.grow_events = 2;
  m.need = ReserveNeed{1, 2, 3, 4};
  m.median_ns = 18304.5;
  m.mad_ns = 12.25;
  m.samples_n = 2;
  m.cost = {1.2e9, 3.4e7};
  m.clocks = {1980, 2619, 45.5, 650.25, "sw_power_cap"};
  m.measured_at = "2026-11-21T12:00:00.000Z";
  m.samples = {{10, 18304, 24110, 36100}, {20, 18305, 24111, std::nullopt}};
  return m;
}

Run filled_run() {
  Run r;
  r.id = "66666666-7777-4888-9999-aaaaaaaaaaaa";
  r.spec_hash = "00ff";
  r.spec_json = R"({"schema_version":1})";
  r.build_id = "nsatune 0.1.0 (abc) g++ 12.2";
  r.environment_hash = "ff00";
  r.environment.facts = {{"driver", "580.95", true}, {"env.NSA_PREFILL_BATCHED", "1", false}};
  r.devices = {filled_device()};
  r.started_at = "2026-11-21T12:00:00.000Z";
  r.ended_at = "2026-11-21T12:10:00.000Z";
  r.state = RunState::incomplete;
  return r;
}

SweepSpec filled_spec() {
  SweepSpec s;
  s.name = "filled";
  s.stages = {"ranges", "attend_selected"};
  s.variants = {"fa2_*"};
  s.budget_s = 90.5;
  s.contest_limit_s = 600;
  s.seed = 18446744073709551615u;
  s.policy = {7,    3,   4,   9,    0.01,  false, false, LaunchMode::graph, Timer::cupti, 5,
              12.5, 0.5, 4.5, true, false, false, 0.25};
  ProblemFamily f;
  f.name = "seed";
  f.base = filled_problem();
  f.axes = {{"seq_len", {"512", "1024"}}, {"phase", {"prefill", "decode"}}, {"overlap", {"0.95"}}};
  f.stages = {"ranges"};
  f.variants = {"ranges_v*"};
  f.roles = {"candidate"};
  f.launch = LaunchMode::graph;
  s.families = {f};
  return s;
}

ThresholdTable filled_table() {
  ThresholdTable t;
  t.executor = "triton";
  t.created_by = "nsatune 0.1.0";
  t.complete = false;
  t.run_ids = {"66666666-7777-4888-9999-aaaaaaaaaaaa"};
  t.device = filled_device();
  t.validators = {"Fictional GPU", "90", "132", "150", "off", "700", "580", "13", "g++", "5a"};
  ClassDecisions c;
  c.problem_class = class_of(filled_problem());
  Decision d;
  d.stages = {"attend_selected"};
  d.axis = Axis::context_len;
  d.launch = LaunchMode::graph;
  d.timer = Timer::cupti;
  Evidence e{"attend_selected/packed",
             0.8,
             0.75,
             0.85,
             0.001,
             40,
             0.002,
             true,
             t.run_ids,
             0.98,
             400,
             768,
             512,
             8192,
             5,
             {"attend_selected/packed"},
             "why",
             BoardSpread{3, 0.75, 1.05, {{"GPU-1", "attend_selected/packed", 1.05, 2}}}};
  d.ranges = {{0, 512, {{"attend_selected"}, "masked", {}}, "aa", Basis::measured, {}},
              {512,
               std::nullopt,
               {{"attend_selected"}, "fused_query", {{"bq", 64}}},
               "bb",
               Basis::extrapolated,
               e}};
  d.alignment = Alignment{64, d.ranges};
  d.held_out = HeldOut{3, 0.001, 0.002, 4096};
  c.decisions = {d};
  c.reserves = {1, 2, 3, 4};
  c.reserve_gains.varlen = ReserveGain{1.5e6, 0.5, 4, 3, 1 << 20, Axis::seq_len, 128, 8192};
  c.reserve_gains.sel_pack = ReserveGain{2e6, 1.5, 5, 5, 1 << 10, Axis::context_len, 64, 64};
  const auto always = FlatValue::always(), never = FlatValue::never();
  c.flat = {FlatValue::from(1),
            never,
            always,
            {},
            FlatValue::from(5),
            6,
            7,
            8,
            9,
            always,
            always,
            never,
            always,
            never,
            {},
            true};
  c.dense_break_even = DenseBreakEven{4096, Axis::context_len, "attention/dense", 65536, 0.21};
  c.projects = {{"nsa-vibe",
                 {{"attend_selected",
                   Axis::context_len,
                   d.ranges,
                   {{"masked", 2}},
                   {{512, {{"masked", 1000}, {"packed", 1200}}}}}}}};
  t.classes = {c};
  return t;
}

namespace {

LaunchSubject filled_subject(const char* id) {
  LaunchSubject row;
  row.id = id;
  row.run_id = "r1";
  row.executor = "triton";
  row.placement = {{"host", "GPU-1"}};
  row.problem = filled_problem();
  row.variant = filled_variant();
  row.source_hash = "9f";
  row.launch = LaunchMode::graph;
  return row;
}

}  // namespace

LaunchTrace filled_launch_trace() {
  return {{{"void f<int>(int)", 2, 300}, {"g()", 1, 50}},
          3,
          1,
          2,
          10,
          20,
          30,
          40,
          340,
          400,
          5,
          341.5,
          350.25,
          "timers disagree"};
}

LaunchTraceRow filled_launch_trace_row() {
  LaunchTraceRow row;
  static_cast<LaunchSubject&>(row) = filled_subject("t1");
  row.traced_at = "2026-01-02T03:04:05.000Z";
  row.trace = filled_launch_trace();
  return row;
}

LaunchCounters filled_launch_counters() {
  return {"GH100",
          0.815,
          0.392,
          0.887,
          268435456,
          244390000,
          131072.5,
          2,
          {{"dram__bytes_read.sum", 268435456}, {"sm__cycles_active.max", 259454.5}},
          "not counted: nothing"};
}

LaunchCountersRow filled_launch_counters_row() {
  LaunchCountersRow row;
  static_cast<LaunchSubject&>(row) = filled_subject("c1");
  row.cold = false;
  row.outcome = Outcome::unsupported;
  row.reason = "no privilege";
  row.counted_at = "2026-01-02T03:04:05.000Z";
  row.counters = filled_launch_counters();
  return row;
}

std::vector<worker::Request> filled_requests() {
  using namespace worker;
  return {HelloRequest{1, "cuda:0"},
          DescribeRequest{1, filled_problem(), filled_variant()},
          PrepareRequest{2, filled_problem(), filled_variant(), 7, "/tmp/in.safetensors"},
          VerifyRequest{3, 1, std::vector<std::int64_t>{0, 63, 64}, "/tmp/out.safetensors"},
          MeasureRequest{4, 1, 5, false, LaunchMode::graph, Timer::host},
          TraceRequest{5, 1, LaunchMode::graph, 3},
          CountRequest{6, 1, LaunchMode::graph, false},
          ReleaseRequest{5, 1},
          ByeRequest{}};
}

std::vector<worker::Reply> filled_replies() {
  using namespace worker;
  const OfferedVariant offered{{"attend_selected"},
                               "fused_query",
                               {{{"bq", 64}, {"st", 3}}},
                               "9f",
                               {{"context_len", 0}, {"seq_len", 1.5}},
                               Direction::backward};
  const Measurement m = filled_measurement();
  return {HelloReply{1, "nsatune 0.1.0", "nsatune", true, false, filled_device(), {offered}, true},
          DescribedReply{1, true, "because", 1.2e9, 3.4e7, 1048576},
          PreparedReply{2, 1, 48211, 1048576},
          VerifiedReply{3, 1, 2, 0.0031},
          MeasuredReply{4, m.samples, m.clocks, 2, m.need, "timers disagree"},
          TracedReply{5, filled_launch_trace()},
          CountedReply{6, filled_launch_counters()},
          ReleasedReply{5},
          FailedReply{6, Outcome::out_of_memory, "needs 51.5 GB, 12.1 GB free"}};
}

std::vector<worker::Request> bare_requests() {
  using namespace worker;
  return {HelloRequest{},   DescribeRequest{}, PrepareRequest{}, VerifyRequest{1, 1, {}, "o"},
          MeasureRequest{}, TraceRequest{},    CountRequest{},   ReleaseRequest{},
          ByeRequest{}};
}

std::vector<worker::Reply> bare_replies() {
  using namespace worker;
  return {HelloReply{1, "w", "e", false, true, Device{}, {}},
          DescribedReply{},
          PreparedReply{},
          VerifiedReply{},
          MeasuredReply{},
          TracedReply{},
          CountedReply{},
          ReleasedReply{},
          FailedReply{}};
}

std::string golden_path(const std::string& name) {
  return std::string(NSA_SOURCE_DIR) + "/tests/golden/schemas/" + name;
}

}  // namespace nsa::test
