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
