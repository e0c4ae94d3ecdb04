#include "log_signals.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace nsa::doctor {
namespace {

/// A signal is there when all words of a row are.
struct Words {
  Signal signal;
  std::array<std::string_view, 3> all;  // unused ones are empty
};

constexpr Words kWords[] = {
    {Signal::slow_path, {"using slow _sdpa_over_ranges"}},
    {Signal::slow_path, {"warn", "slow path", "selection"}},
    {Signal::sel_path, {"sel.path", "path=packed"}},
    {Signal::sel_path, {"sel.path", "path=gather"}},
    {Signal::sel_path, {"sel.path", "path=ranges"}},
    {Signal::fa2_unused, {"fa2.gate_skip"}},
    {Signal::fa2_unused, {"fa2.fallback"}},
    {Signal::fa2_unused, {"fa2: import failed"}},
    {Signal::fa2_unused, {"fa2: capability too low"}},
    {Signal::fa2_unused, {"fa2: not cuda device"}},
    {Signal::fa2_unused, {"no module named 'flash_attn'"}},
    {Signal::fa2_unused, {"importerror", "flash_attn"}},
    {Signal::sdpa_fallback, {"flash attention kernel not used because"}},
    {Signal::sdpa_fallback, {"torch was not compiled with flash attention"}},
    {Signal::sdpa_fallback, {"memory efficient kernel not used because"}},
    {Signal::sdpa_fallback, {"sdpa", "back to math"}},  // falling, falls, fell
    {Signal::sdpa_fallback, {"sdpa", "back to the math"}},
    {Signal::out_of_memory, {"cuda out of memory"}},
    {Signal::out_of_memory, {"cuda error: out of memory"}},
    {Signal::unallocated, {"reserved by pytorch but unallocated"}},
    {Signal::heads_copied, {"repeat_interleave"}},
    {Signal::malformed_batch, {"too many indices for tensor of dimension"}},
    {Signal::waits, {"step", "input shape"}},
    {Signal::watchdog, {"watchdog", "dumping"}},  // what happened, not "dump_on_timeout: 0"
    {Signal::watchdog, {"watchdog", "dumped"}},
    {Signal::watchdog, {"watchdog", "timed out"}},
    {Signal::watchdog, {"watchdog", "stalled"}},
    {Signal::watchdog, {"watchdog caught collective operation timeout"}},
    {Signal::debug_output, {"nsa-log "}},
    {Signal::model_125m, {"m7c_125m"}},  // the name of its config
    {Signal::model_125m, {"dim=768", "n_layers=12", "n_kv_groups=2"}},
    {Signal::crash, {"traceback (most recent call last)"}},
    {Signal::crash, {"segmentation fault"}},
    {Signal::crash, {"core dumped"}},
    {Signal::crash, {"terminate called after throwing"}},
    {Signal::crash, {"cuda error:"}},
    {Signal::crash, {"received signal", "death"}},
    {Signal::crash, {"exitcode", "failed", "rank"}},  // torchrun
    {Signal::crash, {"sigsegv"}},
    {Signal::crash, {"sigkill"}},
};

/// A setting that logs print with its value, or with a word of it.
struct Switch {
  Signal signal;
  std::string_view name;
};
constexpr Switch kSwitches[] = {
    {Signal::checkpointing, "gradient_checkpointing"},
    {Signal::checkpointing, "gradient checkpointing"},
    {Signal::anomaly_mode, "anomaly detection"},
    {Signal::anomaly_mode, "anomaly mode"},
};

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Cuts the next word off `text`; empty at the end of the clause, where another setting may begin.
std::string_view next_word(std::string_view& text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  const std::size_t first = text.find_first_of("abcdefghijklmnopqrstuvwxyz0123456789_,;)}|");
  text.remove_prefix(std::min(first, text.size()));
  const std::string_view word = text.substr(0, text.find_first_not_of(kLetters));
  text.remove_prefix(word.size());
  return word;
}

/// "= True" and "is enabled" after a name, but not "enabled: False", "not enabled" or "_kwargs=1".
bool switched_on(std::string_view behind) {
  constexpr int kWordsRead = 4;
  if (behind.starts_with('_')) return false;
  bool on = false;
  for (int i = 0; i < kWordsRead; ++i) {
    const std::string_view word = next_word(behind);
    if (one_of(word, {"not", "no", "off", "false", "disabled", "0", "none"})) return false;
    if (on || word.empty()) return on;
    on = one_of(word, {"on", "true", "enabled", "1", "yes"});
  }
  return on;
}

bool says(std::string_view lowered, std::string_view name) {
  for (std::size_t at = 0; (at = lowered.find(name, at)) != lowered.npos; at += name.size())
    if (switched_on(lowered.substr(at + name.size()))) return true;
  return false;
}

/// "RuntimeError: ..." and "torch.cuda.OutOfMemoryError: ...", also after "[rank0]: ".
bool names_exception(std::string_view lowered) {
  const std::size_t rank = lowered.starts_with("[rank") ? lowered.find("]: ") : lowered.npos;
  if (rank != lowered.npos) lowered.remove_prefix(rank + 3);
  const std::size_t end = lowered.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.");
  if (end == lowered.npos || lowered[end] != ':') return false;
  const std::string_view name = lowered.substr(0, end);
  return name.ends_with("error") || name.ends_with("exception");
}

void add(std::vector<Signal>& found, Signal signal) {
  if (std::find(found.begin(), found.end(), signal) == found.end()) found.push_back(signal);
}

}  // namespace

std::vector<Signal> signals_of(std::string_view lowered) {
  std::vector<Signal> found;
  for (const Words& row : kWords) {
    const bool there = std::all_of(row.all.begin(), row.all.end(), [&](std::string_view word) {
      return lowered.find(word) != lowered.npos;
    });
    if (there) add(found, row.signal);
  }
  for (const Switch& one : kSwitches)
    if (says(lowered, one.name)) add(found, one.signal);
  if (names_exception(lowered) && lowered.find(": ") != lowered.npos) add(found, Signal::exception);
  return found;
}

}  // namespace nsa::doctor
