// Looks at a running command: its load, its memory, its output.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>

#include "child.hpp"
#include "evidence.hpp"
#include "interrupt.hpp"
#include "nsa/doctor/gather.hpp"
#include "nsa/probes/gpu_load.hpp"
#include "nsa/reports/text_table.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/schemas/output_path.hpp"
#include "processes.hpp"

namespace nsa::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kFirstPeriodS = .2;
constexpr std::size_t kMaxSamples = 4096;  // then every other one goes, and the period doubles
constexpr double kPatienceS = 5;           // between SIGINT, SIGTERM and SIGKILL

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Memory that was taken since the command started, by GPU; the GPU that it uses is the one with
/// the most.
class GpuWatch {
 public:
  GpuWatch() : before_(load_.read()) {}
  const std::string& reason() const { return load_.reason(); }

  void read(doctor::LoadSample& sample, doctor::CommandEvidence& command) const {
    const std::vector<probes::GpuReading> now = load_.read();
    std::int64_t most = -1;
    for (std::size_t i = 0; i < std::min(now.size(), before_.size()); ++i) {
      const std::int64_t taken = std::max<std::int64_t>(
          now[i].used_bytes.value_or(0) - before_[i].used_bytes.value_or(0), 0);
      if (taken <= most) continue;
      most = taken;
      sample.gpu_percent = now[i].busy_percent;
      sample.gpu_memory_bytes = static_cast<double>(taken);
      if (now[i].total_bytes) command.gpu_total_bytes = static_cast<double>(*now[i].total_bytes);
    }
  }

 private:
  probes::GpuLoad load_;
  std::vector<probes::GpuReading> before_;
};

class Watch {
 public:
  Watch(const DoctorOptions& options, bool quiet)
      : options_(options),
        quiet_(quiet),
        log_("output of the command", true),
        child_(options.command),
        tree_(child_.pid()) {
    std::string words;
    for (const std::string& word : options.command) words += (words.empty() ? "" : " ") + word;
    command_.source = doctor::clean(words, 100);
    command_.gpu_reason = gpu_.reason();
  }

  void run() {
    const std::atomic<bool>& stop = stop_on_signals();
    while (!child_.ended() && !stop && seconds_since(start_) < options_.for_s.value_or(1e9)) {
      const double left = options_.for_s.value_or(1e9) - seconds_since(start_);
      pump(std::clamp(std::min(next_s_ - seconds_since(start_), left), .001, period_s_));
      if (seconds_since(start_) >= next_s_ && !child_.ended()) sample();
    }
    command_.seconds = seconds_since(start_);
    if (child_.ended()) command_.exit_code = child_.exit_code();
    end_it();
  }

  void hand_over(doctor::RunEvidence& into, std::optional<WholeFile>& record) {
    if (log_.log().lines > 0) into.logs.push_back(log_.log());
    if (record) record->write_whole(doctor::command_record(command_));
    into.commands.push_back(std::move(command_));
  }

 private:
  void pump(double seconds) {
    child_.pump(seconds, [this](const std::string& line) {
      log_.take(line);
      command_.last_line_at_s = seconds_since(start_);
      if (!quiet_) std::fprintf(stderr, "%s\n", reports::printable(line).c_str());
    });
  }

  void sample() {
    doctor::LoadSample sample;
    sample.at_s = seconds_since(start_);
    const TreeReading tree = tree_.read();
    sample.cpu_percent = 100 * tree.cpu_seconds / std::max(sample.at_s - last_s_, 1e-3);
    sample.rss_bytes = tree.rss_bytes;
    sample.log_lines = log_.log().lines;
    gpu_.read(sample, command_);
    last_s_ = sample.at_s;
    command_.samples.push_back(sample);
    if (command_.samples.size() >= kMaxSamples) thin_out();
    next_s_ = sample.at_s + period_s_;
  }

  void thin_out() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < command_.samples.size(); i += 2)
      command_.samples[kept++] = command_.samples[i];
    command_.samples.resize(kept);
    period_s_ *= 2;
  }

  /// Asks it to end, then makes it.
  void end_it() {
    for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
      const Clock::time_point asked = Clock::now();
      if (!child_.ended()) child_.signal_group(signal);
      while (!child_.ended() && seconds_since(asked) < kPatienceS)
        child_.pump(.05, [](const std::string&) {});
    }
  }

  const DoctorOptions& options_;
  bool quiet_;
  doctor::LogReader log_;
  doctor::CommandEvidence command_;
  GpuWatch gpu_;  // before the command starts
  Clock::time_point start_ = Clock::now();
  DoctorChild child_;
  ProcessTree tree_;
  double next_s_ = kFirstPeriodS, period_s_ = kFirstPeriodS, last_s_ = 0;
};

}  // namespace

void watch_command(const DoctorOptions& options, bool quiet, doctor::RunEvidence& into) {
  std::optional<WholeFile> record;
  if (options.record) record.emplace(*options.record);  // before the command has run for hours
  Watch watch(options, quiet);
  watch.run();
  watch.hand_over(into, record);
}

}  // namespace nsa::cli
