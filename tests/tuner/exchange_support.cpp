#include "exchange_support.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <random>

#include "catch.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/schemas/median.hpp"

namespace nsa::test {
namespace {

using Random = std::mt19937_64;  // its sequence is fixed by the standard

std::int64_t below(Random& random, std::int64_t n) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
}

Device device(const std::string& uuid) {
  Device d;
  d.id = "cuda:0";
  d.backend = Backend::cuda;
  d.name = "Fictional GPU, \"large\"";
  d.uuid = uuid;
  d.compute_capability = 90;
  d.multiprocessors = 132;
  d.memory_bytes = 150'000'000'000;
  d.driver = "580.95";
  return d;
}

Problem problem(Random& random) {
  Problem p;
  p.seq_lens = {512 << below(random, 3)};
  if (below(random, 4) == 0) {
    p.phase = Phase::chunked_prefill;
    p.seq_lens = {100, 37};
    p.context_lens = {512, 64};
    p.selection = {SelectionPattern::smooth, 0.95};
    p.model = {768, 12, 50257};
  }
  p.dtype = below(random, 2) ? Dtype::bf16 : Dtype::fp32;
  return p;
}

VariantId variant(Random& random) {
  switch (below(random, 3)) {
    case 0:
      return {{"attend_selected"}, "fused_query", {{"st", 3}, {"bq", 64}}};
    case 1:
      return {{"attend_compressed", "score"}, "fused", {}};
    default:
      return {{"attend_selected"}, "masked", {}};
  }
}

void give_samples(Measurement& m, Random& random) {
  const std::int64_t n = 1 + below(random, 4);
  std::vector<double> times;
  for (std::int64_t i = 0; i < n; ++i) {
    Sample s{below(random, 1'000'000'000), 1 + below(random, 15'000'000), 0, {}};
    s.host_ns = s.device_ns + below(random, 1000);
    if (below(random, 2)) s.cycles = below(random, 1'000'000'000);
    m.samples.push_back(s);
    times.push_back(static_cast<double>(s.device_ns));
  }
  m.samples_n = n;
  m.median_ns = median(times);
  for (double& time : times) time = std::abs(time - *m.median_ns);
  m.mad_ns = median(times);
}

void give_outcome(Measurement& m, Random& random) {
  switch (below(random, 6)) {
    case 0:
      m.outcome = Outcome::crashed;
      m.reason = "signal 11, \"core\"\ndumped";
      return;
    case 1:
      m.verification = Verification::wrong_result;
      m.worst_row_error = std::numeric_limits<double>::infinity();
      break;
    case 2:
      m.outcome = Outcome::noisy;
      m.reason = "the clock fell";
      break;
    default:
      m.verification = Verification::verified;
      m.worst_row_error = 0.0031;
      m.note = "timers differ; by 1 %";
  }
  give_samples(m, random);
}

Measurement row(Random& random, std::int64_t i, const std::string& uuid) {
  Measurement m;
  m.id = "row-" + std::to_string(i);
  m.run_id = "run-" + std::to_string(below(random, 2));
  m.job_key = "job-" + std::to_string(i);
  m.placement = {{"host-a", uuid}};
  m.problem = problem(random);
  m.variant = variant(random);
  m.source_hash = "9f2c";
  m.process = below(random, 3);
  m.round = below(random, 9);
  m.position = below(random, 5);
  m.pair_id = "pair-" + std::to_string(below(random, 3));
  m.control = below(random, 5) == 0;
  m.held_out = below(random, 5) == 0;
  m.timer = Timer::events;
  m.cold = below(random, 2) == 0;
  m.first_call_ns = below(random, 1'000'000);
  m.workspace_bytes = 1 << 20;
  m.grow_events = below(random, 3);
  m.need = ReserveNeed{1, 2, 3, 4};
  m.cost = {1.25e9, 3.4e7};
  m.clocks = {1980, 2619, 45.5, 650.25, "sw_power_cap"};
  m.measured_at = "2026-11-21T12:00:0" + std::to_string(below(random, 10)) + ".000Z";
  give_outcome(m, random);
  return m;
}

exchange::RunHead run_head(const std::string& id, const std::vector<Device>& devices) {
  exchange::RunHead head;
  Run& run = head.run;
  run.id = id;
  run.spec_hash = "spec of " + id;
  run.spec_json = R"({"name":"quick"})";
  run.build_id = "0.1.0+abc";
  run.environment.facts = {{"driver", "580.95", true}, {"env.NSA_USE_FA2", "1\n,\"", false}};
  run.environment_hash = store::environment_hash(run.environment);
  run.devices = devices;
  run.started_at = "2026-11-21T11:00:00.000Z";
  run.ended_at = "2026-11-21T13:00:00.000Z";
  run.state = RunState::incomplete;
  head.libraries = {{"cuDNN", true, "9.14", ""}, {"CUPTI", false, "", "held by \"ncu\""}};
  return head;
}

}  // namespace

exchange::Results some_results(std::uint64_t seed, bool one_device) {
  Random random(seed);
  exchange::Results results{{device("GPU-0")}, {}};
  if (!one_device) results.devices.push_back(device("GPU-1"));
  for (const char* id : {"run-0", "run-1"}) results.runs.push_back(run_head(id, results.devices));
  const std::int64_t n = 5 + below(random, 30);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto& where = results.devices[static_cast<std::size_t>(i) % results.devices.size()];
    results.rows.push_back(row(random, i, where.uuid));
  }
  return results;
}

exchange::Imported read_bundle(const exchange::Format& format, const exchange::Bundle& bundle,
                               const exchange::Mapping& mapping) {
  const auto sidecar = [&](const std::string& name) {
    const auto at = bundle.sidecars.find(name);
    if (at == bundle.sidecars.end()) throw InputError(name + ": cannot be found");
    return at->second;
  };
  return format.read({"file", bundle.text, sidecar, mapping});
}

exchange::Imported there_and_back(const exchange::Format& format,
                                  const exchange::Results& results) {
  return read_bundle(format, format.write(results, "out.json"));
}

exchange::Imported read_text(const std::string& format, const std::string& text,
                             const exchange::Mapping& mapping) {
  return read_bundle(exchange::find_format(format), {text, {}}, mapping);
}

std::vector<std::string> texts_of(const std::vector<exchange::RunHead>& heads) {
  std::vector<std::string> texts;
  for (const auto& [run, libraries] : heads)
    texts.push_back(Json(run).dump() + Json(libraries).dump());
  return texts;
}

std::vector<std::string> texts_of(const std::vector<Measurement>& rows) {
  std::vector<std::string> texts;
  for (const Measurement& row : rows) texts.push_back(Json(row).dump());
  std::sort(texts.begin(), texts.end());
  return texts;
}

std::optional<std::string> users_file(const std::string& name) {
  const char* folder = std::getenv("NSATUNE_EXTERNAL_DATA");
  const std::string path = std::string(folder ? folder : "") + "/nsa_vibe/" + name;
  if (folder && std::filesystem::exists(path)) return read_text_file(path);
  WARN("skipped: NSATUNE_EXTERNAL_DATA has no nsa_vibe/" << name);
  return std::nullopt;
}

const std::map<std::string, std::string>& made_up_files() {
  static const std::map<std::string, std::string> kFiles{
      {"decode.csv", R"(S,ms_total,ms_cmp,ms_sel,ms_win,reads_actual,reads_expected
64,2.5,0.5,0.75,0.25,100,110
96,3.5,1.5,1.75,1.25,100,120
)"},
      {"selection.csv", R"(mode,N,H,D,Dv,L,tri_ms,ref_ms,speedup,mae,status
dense,8,2,32,32,96,0.5,0.25,0.5,1e-3,SLOWER
varlen,8,2,32,32,96,ERROR,ERROR,0,inf,SOME_CRASH
)"},
      {"window.txt", R"(# Sliding window benchmark (w=96)
S=64 w=96 sliding masked 1.50 ms  fa2 2.50 ms  speedup x0.60
S=96 w=96 sliding masked 2.50 ms  fa2 2.00 ms  speedup x1.25
some.Error: it ended here
)"},
      {"compressed.txt", R"(# Compressed attention benchmark (l=16, d=8)
S=64 l=16 d=8 compressed masked 1.50 ms  fa2 2.50 ms  speedup x0.60
)"},
      {"report.md", R"(## Recommended Thresholds
- `runtime.fa2_min_len_cmp`: **48**

### Sliding Window Performance
| S | w | Speedup | Masked (ms) | FA-2 (ms) |
|---|---|---------|-------------|-----------|
| 64 | 96 | 0.60x | 1.50 | 2.50 |
)"},
      {"guard.json", R"({"64": 1.5, "96": 0.0})"}};
  return kFiles;
}

}  // namespace nsa::test
