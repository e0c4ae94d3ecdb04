#include <algorithm>

#include "log_signals.hpp"
#include "nsa/doctor/gather.hpp"

namespace nsa::doctor {
namespace {

constexpr std::size_t kMaxLineBytes = 4096;    // of what is looked at
constexpr std::size_t kMaxValues = 1'000'000;  // throughputs that are kept

/// "loss=3.2" is no variable of an environment.
bool of_interest(std::string_view name) {
  for (const std::string_view prefix : {"NSA_", "CUDA_", "PYTORCH_", "TORCH_", "NCCL_"})
    if (name.starts_with(prefix)) return true;
  return false;
}

bool blank(std::string_view line) { return line.find_first_not_of(" \t\r") == line.npos; }

bool has(const std::vector<Signal>& signals, Signal signal) {
  return std::find(signals.begin(), signals.end(), signal) != signals.end();
}

}  // namespace

void LogReader::take(std::string_view line) {
  ++log_.lines;
  // A progress bar writes over its line; editors and our line numbers count it once.
  while (!line.empty()) {
    const std::size_t end = std::min(line.find('\r'), line.size());
    take_part(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
}

void LogReader::take_part(std::string_view line) {
  const std::int64_t number = log_.lines;
  line = line.substr(0, kMaxLineBytes);
  if (blank(line)) return;
  log_.last_line = number;
  std::string lowered(line);
  for (char& c : lowered) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  const std::vector<Signal> signals = signals_of(lowered);
  const bool ends_traceback = in_traceback_ && has(signals, Signal::exception);
  for (const Signal signal : signals) {
    Hits& hits = log_.signals[signal];
    hits.last_line = number;
    if (signal == Signal::crash && ends_traceback) continue;  // counted where it began
    if (hits.count++ == 0) {
      hits.first_line = number;
      hits.text = clean(line);
    }
  }
  if (lowered.find("traceback (most recent call last)") != lowered.npos) in_traceback_ = true;
  if (ends_traceback) in_traceback_ = false;
  take_numbers(lowered);
  Settings set;
  if (!read_assignments(line, number, set)) return;
  for (auto& [name, setting] : set) {
    if (!of_interest(name)) continue;
    variables_[name] = std::move(setting);
    log_.sets_variables = true;
  }
}

void LogReader::take_numbers(const std::string& lowered) {
  if (const auto value = tok_per_s_of(lowered); value && log_.tok_per_s.size() < kMaxValues) {
    log_.tok_per_s.push_back(*value);
    log_.tok_line = log_.lines;
  }
  if (const auto value = gpu_percent_of(lowered); value && log_.gpu_percent.size() < kMaxValues) {
    log_.gpu_percent.push_back(*value);
    log_.gpu_line = log_.lines;
  }
  const auto unallocated = bytes_before(lowered, "is reserved by pytorch but unallocated");
  if (!unallocated || *unallocated < log_.unallocated_bytes.value_or(0)) return;
  log_.unallocated_bytes = unallocated;
  log_.allocated_bytes = bytes_before(lowered, "is allocated by pytorch");
}

}  // namespace nsa::doctor
