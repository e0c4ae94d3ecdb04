// Heartbeat JSONL.
#include <fmt/format.h>

#include "throughput.hpp"
#include "words.hpp"

namespace nsa::doctor {
namespace {

constexpr double kReservedRatio = 1.5, kReservedMib = 1024;
constexpr double kFetchShare = .1, kFetchMs = 100;
constexpr double kSilenceS = 180;  // when nsa-vibe's watchdog calls it a stall

Counter counter_of(const char* name, const At& at) {
  return {name, static_cast<std::int64_t>(at.value), at.line};
}
Fact fact_of(const HeartbeatEvidence& beat, const Counter& counter) {
  return {.what = fmt::format("{} {}", counter.name, count_text(counter.count)),
          .source = beat.file,
          .line = counter.line,
          .count = counter.count};
}

/// The slow path as heartbeats call it.
const std::string kSlowPath = "attend_selected/" + std::string(to_string(SwitchTarget::row_loop));

bool of_fa2(const Counter& counter) {
  return counter.name.find("fa2") != std::string::npos ||
         counter.name.starts_with("attend_window/") ||
         counter.name.starts_with("attend_compressed/");
}

/// One finding for each file whose fallbacks of that kind are above 0.
Founds fallbacks(const RunEvidence& evidence, bool fa2, const char* message) {
  Founds founds;
  for (const HeartbeatEvidence& beat : evidence.heartbeats) {
    std::vector<Fact> facts;
    for (const Counter& counter : beat.fallbacks)
      if (of_fa2(counter) == fa2) facts.push_back(fact_of(beat, counter));
    if (!facts.empty())
      founds.push_back({message, std::move(facts), unknown_gain("counters do not measure time")});
  }
  return founds;
}

Founds rates(const RunEvidence& evidence, double from, double to, const char* message) {
  Founds founds;
  for (const HeartbeatEvidence& beat : evidence.heartbeats)
    for (Found& found :
         throughput_between(beat.tok_per_s, from, to, beat.file, beat.tok_line, message))
      founds.push_back(std::move(found));
  return founds;
}

}  // namespace

Founds heartbeat_collapsed(const RunEvidence& evidence) {
  return rates(evidence, 0, kCollapsedTokPerS, "below 10 tok/s, as the slow path is");
}

Founds heartbeat_below_target(const RunEvidence& evidence) {
  const auto model = of_125m(evidence, nullptr);
  if (!model) return {};
  Founds founds = rates(evidence, kCollapsedTokPerS, kTargetTokPerS,
                        "below the 300 tok/s that the 125M model should reach");
  for (Found& found : founds) found.facts.push_back(*model);
  return founds;
}

Founds heartbeat_slow_path(const RunEvidence& evidence) {
  Founds founds;
  for (const HeartbeatEvidence& beat : evidence.heartbeats) {
    std::vector<Fact> facts;
    if (beat.slow_path_calls && beat.slow_path_calls->value > 0)
      facts.push_back(fact_of(beat, counter_of("slow_path_calls", *beat.slow_path_calls)));
    for (const Counter& engaged : beat.engaged)
      if (engaged.name == kSlowPath && engaged.count > 0) facts.push_back(fact_of(beat, engaged));
    if (!facts.empty())
      founds.push_back({"calls took a slow path", std::move(facts),
                        unknown_gain("counters do not measure time")});
  }
  return founds;
}

Founds heartbeat_fallbacks(const RunEvidence& evidence) {
  return fallbacks(evidence, false, "a path of the selected branch failed and fell back");
}

Founds heartbeat_fa2(const RunEvidence& evidence) {
  return fallbacks(evidence, true, "FA-2 was requested but fell back");
}

Founds heartbeat_aux_statistics(const RunEvidence& evidence) {
  Founds founds;
  for (const HeartbeatEvidence& beat : evidence.heartbeats) {
    if (!beat.gate_statistics) continue;
    founds.push_back({"records carry statistics of the gates, which are read back from the GPU",
                      {fact_at(beat.file, beat.gate_statistics->line, "gate_entropy_mean")},
                      unknown_gain("counters do not measure time")});
  }
  return founds;
}

Founds heartbeat_fragmentation(const RunEvidence& evidence) {
  Founds founds;
  for (const HeartbeatEvidence& beat : evidence.heartbeats) {
    if (!beat.reserved_mib || !beat.allocated_mib) continue;
    const double reserved = beat.reserved_mib->value, used = beat.allocated_mib->value;
    if (reserved < kReservedRatio * used || reserved - used < kReservedMib) continue;
    founds.push_back({fmt::format("{} reserved for {} in use", gib_text(reserved * 1048576),
                                  gib_text(used * 1048576)),
                      {fact_at(beat.file, beat.reserved_mib->line, "gpu_mem_reserved")},
                      unknown_gain("memory, not time")});
  }
  return founds;
}

Founds heartbeat_data(const RunEvidence& evidence) {
  Founds founds;
  for (const HeartbeatEvidence& beat : evidence.heartbeats) {
    if (beat.fetch_share && beat.fetch_share->value > kFetchShare) {
      const double share = beat.fetch_share->value;
      founds.push_back(
          {fmt::format("a step spends {} of its time waiting for data", percent_text(share)),
           {fact_at(beat.file, beat.fetch_share->line, "dt_fetch_s")},
           {.at_most_ratio = share < 1 ? std::optional(1 / (1 - share)) : std::nullopt,
            .basis = "if the data came in time"}});
    } else if (beat.fetch_p95_ms && beat.fetch_p95_ms->value > kFetchMs) {
      founds.push_back({fmt::format("one batch of data in twenty takes {:.0f} ms or more",
                                    beat.fetch_p95_ms->value),
                        {fact_at(beat.file, beat.fetch_p95_ms->line, "fetch_p95_ms")},
                        unknown_gain("the records do not say how long a step takes")});
    }
  }
  return founds;
}

Founds heartbeat_growth(const RunEvidence& evidence) {
  Founds founds;
  for (const HeartbeatEvidence& beat : evidence.heartbeats) {
    if (!beat.grow_events || beat.grow_events->value <= 0) continue;
    founds.push_back({"workspaces still grow after the first record",
                      {fact_of(beat, counter_of("grow_events", *beat.grow_events))},
                      unknown_gain("counters do not measure time")});
  }
  return founds;
}

Founds heartbeat_silence(const RunEvidence& evidence) {
  Founds founds;
  for (const HeartbeatEvidence& beat : evidence.heartbeats) {
    std::vector<Fact> facts;
    if (beat.dump) facts.push_back(fact_at(beat.file, beat.dump->line, "watchdog_dump"));
    if (beat.longest_silence_s && beat.longest_silence_s->value > kSilenceS)
      facts.push_back(
          fact_at(beat.file, beat.longest_silence_s->line,
                  fmt::format("{:.0f} s after the record before", beat.longest_silence_s->value)));
    if (!facts.empty())
      founds.push_back({"the run stalled", std::move(facts),
                        unknown_gain("nothing is computed while it stalls")});
  }
  return founds;
}

}  // namespace nsa::doctor
