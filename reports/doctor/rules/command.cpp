// A running command: load of the GPU and of the host, memory, output.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "rules.hpp"
#include "sorted.hpp"
#include "words.hpp"

namespace nsa::doctor {
namespace {

constexpr double kIdlePercent = 30;      // 004:83
constexpr double kBusyCorePercent = 80;  // 004:84: one core of Python
constexpr double kUsedMemoryShare = .33, kUsedGpuPercent = 80;
constexpr double kGpuBytes = 64.0 * (1 << 20);  // a context and something in it
constexpr double kSilentS = 120;                // 003:28

/// Readings of the second half: what comes before is loading and warming up.
std::vector<double> later(const CommandEvidence& command,
                          const std::function<std::optional<double>(const LoadSample&)>& get) {
  std::vector<double> values;
  for (std::size_t i = command.samples.size() / 2; i < command.samples.size(); ++i)
    if (const auto value = get(command.samples[i])) values.push_back(*value);
  return values;
}

struct Load {
  std::optional<double> gpu_percent, cpu_percent, gpu_bytes;
  bool enough = false;
};

Load load_of(const CommandEvidence& command) {
  Load load;
  const auto gpu = later(command, [](const LoadSample& s) { return s.gpu_percent; });
  load.gpu_percent = median(gpu);
  load.cpu_percent = median(later(command, [](const LoadSample& s) { return s.cpu_percent; }));
  load.gpu_bytes = median(later(command, [](const LoadSample& s) { return s.gpu_memory_bytes; }));
  load.enough = command.samples.size() >= kFewestReadings;
  return load;
}

Fact reading(const CommandEvidence& command, const std::string& what) {
  return {.what = what,
          .source = command.source,
          .count = static_cast<std::int64_t>(command.samples.size())};
}

Founds each_command(
    const RunEvidence& evidence,
    const std::function<void(const CommandEvidence&, const Load&, Founds&)>& judge) {
  Founds founds;
  for (const CommandEvidence& command : evidence.commands) {
    const Load load = load_of(command);
    if (load.enough) judge(command, load, founds);
  }
  return founds;
}

bool on_gpu(const Load& load) { return load.gpu_bytes.value_or(0) > kGpuBytes; }

Gain up_to_busy(double percent) {
  return {.at_most_ratio = percent > 0 ? std::optional(100 / percent) : std::nullopt,
          .basis = "if the GPU were busy all the time"};
}

}  // namespace

Founds command_idle_gpu(const RunEvidence& evidence) {
  return each_command(evidence, [](const CommandEvidence& c, const Load& load, Founds& founds) {
    if (!load.gpu_percent || !on_gpu(load) || *load.gpu_percent >= kIdlePercent) return;
    founds.push_back({fmt::format("the GPU works {:.0f} % of the time", *load.gpu_percent),
                      {reading(c, fmt::format("median utilisation {:.0f} %", *load.gpu_percent))},
                      up_to_busy(*load.gpu_percent)});
  });
}

Founds command_host_bound(const RunEvidence& evidence) {
  return each_command(evidence, [](const CommandEvidence& c, const Load& load, Founds& founds) {
    const bool idle = load.gpu_percent && on_gpu(load) && *load.gpu_percent < kIdlePercent;
    if (!idle || load.cpu_percent.value_or(0) < kBusyCorePercent) return;
    founds.push_back(
        {fmt::format("a host thread is busy ({:.0f} % of a core) while the GPU works {:.0f} %: the "
                     "program loops in Python",
                     *load.cpu_percent, *load.gpu_percent),
         {reading(c, fmt::format("median CPU {:.0f} %", *load.cpu_percent))},
         up_to_busy(*load.gpu_percent)});
  });
}

Founds command_memory_unused(const RunEvidence& evidence) {
  return each_command(evidence, [](const CommandEvidence& c, const Load& load, Founds& founds) {
    if (!c.gpu_total_bytes || !on_gpu(load) || load.gpu_percent.value_or(100) >= kUsedGpuPercent)
      return;
    if (*load.gpu_bytes >= kUsedMemoryShare * *c.gpu_total_bytes) return;
    founds.push_back({fmt::format("{} of {} of the GPU's memory is used, and the GPU is not busy: "
                                  "the batch is too small",
                                  gib_text(*load.gpu_bytes), gib_text(*c.gpu_total_bytes)),
                      {reading(c, "median memory " + gib_text(*load.gpu_bytes))},
                      up_to_busy(*load.gpu_percent)});
  });
}

Founds command_no_gpu(const RunEvidence& evidence) {
  return each_command(evidence, [](const CommandEvidence& c, const Load& load, Founds& founds) {
    if (!load.gpu_percent || on_gpu(load) || load.cpu_percent.value_or(0) < kBusyCorePercent)
      return;
    founds.push_back({"the program computes on the CPU: it holds no memory of a GPU",
                      {reading(c, fmt::format("median CPU {:.0f} %", *load.cpu_percent))},
                      unknown_gain("there is no run on the GPU to compare with")});
  });
}

Founds command_silent(const RunEvidence& evidence) {
  Founds founds;
  for (const CommandEvidence& c : evidence.commands) {
    const double silent = c.seconds - c.last_line_at_s;
    if (silent < kSilentS || c.exit_code) continue;
    founds.push_back({fmt::format("no line of output for {:.0f} s: it hangs, or a step is so slow "
                                  "that it seems to",
                                  silent),
                      {reading(c, fmt::format("last line after {:.0f} s", c.last_line_at_s))},
                      unknown_gain("nothing is computed while it hangs")});
  }
  return founds;
}

}  // namespace nsa::doctor
