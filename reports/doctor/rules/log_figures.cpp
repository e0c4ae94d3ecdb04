// Training logs: figures in them, and what is missing at their end.
#include <fmt/format.h>

#include <algorithm>

#include "sorted.hpp"
#include "throughput.hpp"
#include "words.hpp"

namespace nsa::doctor {
namespace {

constexpr double kIdleGpuPercent = 30;          // 004:83
constexpr double kUnallocatedShare = .1;        // of what is allocated
constexpr double kUnallocatedBytes = 1u << 30;  // or this much

}  // namespace

Founds throughput_between(const std::vector<double>& values, double from, double to,
                          const std::string& file, std::int64_t line, const char* message) {
  const auto rate = median(values);
  if (!rate || *rate < from || *rate >= to) return {};
  Fact fact = fact_at(file, line,
                      fmt::format("median {:.3g} tok/s of {} figures, the last in this line", *rate,
                                  count_text(static_cast<std::int64_t>(values.size()))));
  fact.count = static_cast<std::int64_t>(values.size());
  return {{message, {std::move(fact)}, unknown_gain("`doctor` on a trace has a bound")}};
}

std::optional<Fact> of_125m(const RunEvidence& evidence, const LogEvidence* log) {
  for (const LogEvidence& one : evidence.logs) {
    const Hits* hits = hits_of(one, Signal::model_125m);
    if (hits && (!log || log == &one)) return fact_of(one, *hits);
  }
  for (const ConfigEvidence& config : evidence.configs) {
    if (config.of_nsa() && config.integer("model.dim") == 768 &&
        config.integer("model.n_layers") == 12)
      return fact_of(config, "model.dim");
  }
  return {};
}

Founds log_collapsed(const RunEvidence& evidence) {
  Founds founds;
  for (const LogEvidence& log : evidence.logs)
    for (Found& found : throughput_between(log.tok_per_s, 0, kCollapsedTokPerS, log.file,
                                           log.tok_line, "below 10 tok/s, as the slow path is"))
      founds.push_back(std::move(found));
  return founds;
}

Founds log_below_target(const RunEvidence& evidence) {
  Founds founds;
  for (const LogEvidence& log : evidence.logs) {
    const auto model = of_125m(evidence, &log);
    if (!model) continue;
    for (Found& found :
         throughput_between(log.tok_per_s, kCollapsedTokPerS, kTargetTokPerS, log.file,
                            log.tok_line, "below the 300 tok/s that the 125M model should reach")) {
      found.facts.push_back(*model);
      founds.push_back(std::move(found));
    }
  }
  return founds;
}

Founds log_idle_gpu(const RunEvidence& evidence) {
  Founds founds;
  for (const LogEvidence& log : evidence.logs) {
    const auto percent = median(log.gpu_percent);
    if (!percent || *percent >= kIdleGpuPercent) continue;
    founds.push_back({fmt::format("the GPU worked {:.0f} % of the time", *percent),
                      {fact_at(log.file, log.gpu_line, "as nvidia-smi printed it")},
                      {.at_most_ratio = *percent > 0 ? std::optional(100 / *percent) : std::nullopt,
                       .basis = "if the GPU were busy all the time"}});
  }
  return founds;
}

Founds log_fragmentation(const RunEvidence& evidence) {
  Founds founds;
  for (const LogEvidence& log : evidence.logs) {
    if (!log.unallocated_bytes) continue;
    const double unused = *log.unallocated_bytes, used = log.allocated_bytes.value_or(0);
    if (unused < kUnallocatedBytes && unused < kUnallocatedShare * used) continue;
    const Hits* hits = hits_of(log, Signal::unallocated);
    founds.push_back({fmt::format("{} are reserved but unused, and {} are in use", gib_text(unused),
                                  gib_text(used)),
                      {hits ? fact_of(log, *hits) : fact_at(log.file, 0, "out of memory")},
                      unknown_gain("memory, not time")});
  }
  return founds;
}

Founds log_hang(const RunEvidence& evidence) {
  Founds founds;
  for (const LogEvidence& log : evidence.logs) {
    const Hits* waits = hits_of(log, Signal::waits);
    const Hits* watchdog = hits_of(log, Signal::watchdog);
    if (watchdog)
      founds.push_back({"a watchdog ended a step that made no progress, or dumped its stacks",
                        {fact_of(log, *watchdog)},
                        unknown_gain("nothing is computed while it stalls")});
    const bool last = waits && waits->last_line == log.last_line;
    if (last && !watchdog && !log.live)
      founds.push_back(
          {"the log ends where a step began: the first forward pass hangs, or is so "
           "slow that it looks like it",
           {fact_at(log.file, waits->last_line, waits->text)},
           unknown_gain("nothing is computed while it stalls")});
  }
  return founds;
}

}  // namespace nsa::doctor
