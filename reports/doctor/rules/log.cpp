// Training logs: lines that say what went wrong.
#include <fmt/format.h>

#include "measured.hpp"
#include "rules.hpp"
#include "words.hpp"

namespace nsa::doctor {
namespace {

constexpr std::int64_t kManyDebugLines = 100;

/// "packed" of "sel.path path=packed S=2048".
std::string path_of(const std::string& text) {
  const std::size_t at = text.find("path=");
  if (at == text.npos) return "another path";
  const std::size_t end = text.find_first_of(" ,}", at);
  return text.substr(at + 5, end == text.npos ? end : end - at - 5);
}

/// One finding for each log with that signal.
Founds each_log(const RunEvidence& evidence, Signal signal, const std::string& message,
                const std::string& basis) {
  Founds founds;
  for (const LogEvidence& log : evidence.logs) {
    if (const Hits* hits = hits_of(log, signal))
      founds.push_back({message, {fact_of(log, *hits)}, unknown_gain(basis)});
  }
  return founds;
}

/// Whether the log goes on after its last crash: what was caught ended nothing.
bool goes_on(const LogEvidence& log, const Hits& crash) {
  return !log.tok_per_s.empty() && log.tok_line > crash.last_line;
}

constexpr const char* kNoTimes = "the log does not say how much time it costs";

}  // namespace

Founds log_slow_path(const RunEvidence& evidence) {
  return each_log(evidence, Signal::slow_path,
                  "selected attention runs as a host loop over rows and groups",
                  "users report 1000 times, from <10 to 9,200 tok/s; not measured here");
}

Founds log_selection_path(const RunEvidence& evidence) {
  Founds founds;
  for (const LogEvidence& log : evidence.logs) {
    const Hits* hits = hits_of(log, Signal::sel_path);
    if (!hits) continue;
    const std::string path = path_of(hits->text);
    const auto verdict = compare(evidence, "attend_selected", only(SwitchTarget::masked),
                                 only(switch_target_of(path)));
    if (verdict && verdict->ratio >= 1) continue;
    std::string message = fmt::format("selected attention takes `{}`, not `masked`", path);
    if (verdict) message += ", and `masked` was " + text_of(*verdict);
    founds.push_back({message, {fact_of(log, *hits)}, unknown_gain(kNoTimes)});
  }
  return founds;
}

Founds log_fa2_unused(const RunEvidence& evidence) {
  return each_log(evidence, Signal::fa2_unused,
                  "FA-2 was requested, but was refused or is not installed",
                  "whether FA-2 would be faster is another question: measure it");
}

Founds log_sdpa_fallback(const RunEvidence& evidence) {
  return each_log(evidence, Signal::sdpa_fallback,
                  "SDPA does not use its flash back end but the memory-efficient one or math",
                  kNoTimes);
}

Founds log_crash(const RunEvidence& evidence) {
  Founds founds;
  for (const LogEvidence& log : evidence.logs) {
    const Hits* const crash = hits_of(log, Signal::crash);
    const bool said_elsewhere =
        hits_of(log, Signal::out_of_memory) || hits_of(log, Signal::malformed_batch);
    if (!crash || said_elsewhere || goes_on(log, *crash)) continue;
    const Hits* const exception = hits_of(log, Signal::exception);
    Found found{exception ? "the run ended in an exception: " + exception->text
                          : "the run ended in a crash: " + crash->text,
                {fact_of(log, *crash)},
                unknown_gain("a run that ended")};
    if (exception) found.facts.push_back(fact_of(log, *exception));
    founds.push_back(std::move(found));
  }
  return founds;
}

Founds log_out_of_memory(const RunEvidence& evidence) {
  return each_log(evidence, Signal::out_of_memory, "the GPU ran out of memory", "memory, not time");
}

Founds log_heads_copied(const RunEvidence& evidence) {
  return each_log(evidence, Signal::heads_copied, "K and V are copied for every query head",
                  kNoTimes);
}

Founds log_malformed_batch(const RunEvidence& evidence) {
  return each_log(evidence, Signal::malformed_batch,
                  "a rank got a batch that lacks the sequence dimension",
                  "this rank does not train at all");
}

Founds log_checkpointing(const RunEvidence& evidence) {
  Founds founds = each_log(evidence, Signal::checkpointing, "gradient checkpointing is on",
                           "users report 3-4 times (004:37); not measured here");
  for (Found& found : founds) found.advice = checkpointing_advice(evidence);
  return founds;
}

Founds log_debugging(const RunEvidence& evidence) {
  Founds founds =
      each_log(evidence, Signal::anomaly_mode, "anomaly detection checks every gradient", kNoTimes);
  for (const LogEvidence& log : evidence.logs) {
    const Hits* hits = hits_of(log, Signal::debug_output);
    if (!hits || hits->count < kManyDebugLines) continue;
    founds.push_back({fmt::format("{} lines of debugging output: some of their values are read "
                                  "back from the GPU",
                                  count_text(hits->count)),
                      {fact_of(log, *hits)},
                      unknown_gain(kNoTimes)});
  }
  return founds;
}

}  // namespace nsa::doctor
