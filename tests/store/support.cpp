#include "support.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace nsa::test {

TempFolder::TempFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "nsa_store_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  path_ = name;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

store::RunRequest some_request() {
  store::RunRequest request;
  request.spec_hash = "spec-1";
  request.spec_json = R"({"name":"quick"})";
  request.build_id = "nsatune 0.1.0, abc123, g++ 12";
  request.environment.facts = {{"driver", "580.95", true}, {"host", "node1", false}};
  Device device;
  device.name = "Some CPU";
  device.uuid = "cpu-0001";
  device.multiprocessors = 2;
  request.devices = {device};
  return request;
}

Measurement some_measurement(const std::string& run_id, std::int64_t i) {
  Measurement m;
  m.id = make_uuid();
  m.run_id = run_id;
  m.job_key = "job-" + std::to_string(i);
  m.placement = {{"node1", "cpu-0001"}};
  m.variant = {{"attend_selected"}, "fused_query", {{"bq", 64}, {"st", 3}}};
  m.problem.seq_lens = {256 + 16 * (i % 8)};
  m.source_hash = "9f2c";
  m.verification = Verification::verified;
  m.median_ns = 1500.0 + static_cast<double>(i);
  m.mad_ns = 12.5;
  m.cost = {3e6, 1e5};
  m.measured_at = now_iso8601();
  m.samples = {{100, 1500, 1600, {}}, {5000, 1501, 1601, {}}, {9000, 1502, 1602, {}}};
  m.samples_n = 3;
  return m;
}

store::RunResult some_result(const std::string& run_id, const std::string& recorded_at,
                             double tokens_per_s) {
  store::RunResult result{make_uuid(), run_id, recorded_at, "nsatune run --preset tiny", {}};
  result.report = Json::parse(R"({
    "run_id": "", "version": "0.1.0", "date": "", "variables": {"NSA_USE_FA2": "1"}, "command": "",
    "device": {"id": "cpu", "backend": "cpu", "name": "Some CPU", "uuid": "cpu-0001"},
    "model": {"name": "tiny", "layer_only": false, "attention": "nsa", "parameters": 1000,
              "model_dim": 256, "layers": 2, "q_heads": 8, "kv_heads": 2, "head_dim_k": 32,
              "head_dim_v": 32, "cmp_block": 32, "cmp_stride": 16, "sel_block": 64,
              "sel_count": 16, "window": 512, "dtype": "fp32"},
    "seq_len": 256, "batch": 1, "direction": "forward", "token_definition": "new tokens",
    "tokens_per_step": 256, "tokens_per_s": 0, "median_step_ns": 2560000000,
    "first_call_ns": 3000000000, "step_ns": [2560000000], "flop_per_step": 1e9, "flop_per_s": 5e8,
    "peak_flop_per_s": 1e9, "share_of_peak": 0.5, "thresholds": null,
    "engaged": [{"stage": "score", "variant": "streamed", "calls": 2}], "fallback": [],
    "slow_path_calls": 0,
    "memory": {"weights_bytes": 4000, "cache_bytes": 0, "workspace_peak_bytes": 8192},
    "telemetry": {"engaged": [], "fallback": [], "slow_path_calls": 0, "grow_events": 1,
                  "need": {"varlen_n": 0, "varlen_k": 0, "sel_pack_n": 0, "sel_pack_l": 0},
                  "peak_workspace_bytes": 8192, "reads_pred": 10, "reads_act": 10, "sel_rows": 0,
                  "sel_k_mean": 0, "sel_k_max": 0, "sel_pct_at_max": 0,
                  "row_length_histogram": []}})");
  result.report["run_id"] = run_id;
  result.report["date"] = recorded_at;
  result.report["command"] = result.command;
  result.report["tokens_per_s"] = tokens_per_s;
  return result;
}

pid_t fork_child(const std::function<int()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  int status = 99;
  try {
    status = body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "child: %s\n", error.what());
  }
  _exit(status);  // without the destructors and reports of the parent's test program
}

int wait_for(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

int run_in_child(const std::function<int()>& body) { return wait_for(fork_child(body)); }

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? "" : " ") + name;
  return joined;
}

}  // namespace nsa::test
