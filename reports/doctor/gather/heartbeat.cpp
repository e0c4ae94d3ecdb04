// Heartbeat JSONL: one record a line; fields that are not known are ignored.
#include <algorithm>
#include <cmath>
#include <map>

#include "nsa/doctor/gather.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "python_json.hpp"
#include "sorted.hpp"

namespace nsa::doctor {

class HeartbeatReader::Records {
 public:
  explicit Records(const std::string& file) { out_.file = file; }
  const std::string& file() const noexcept { return out_.file; }

  void take(const Json& record, std::int64_t line) {
    line_ = line;
    record_ = &record;
    if (!record.is_object()) refuse("a record is an object");
    out_.lines = line;
    out_.last_line = line;
    if (const auto rank = number("rank"); rank && *rank < 1e9)
      out_.rank = static_cast<std::int64_t>(*rank);
    const std::string message = text("msg");
    const auto at = number("ts");
    if (at && last_ts_) note_silence(*at - *last_ts_);
    if (at) last_ts_ = at;
    if (message == "watchdog_dump") out_.dump = At{1, line};
    if (message == "progress") take_progress(at);
    take_memory();
    take_counters();
  }

  HeartbeatEvidence finish() {
    const auto fetch = median(fetch_s_), step = median(step_s_);
    if (fetch && step && *step > 0) out_.fetch_share = At{*fetch / *step, fetch_line_};
    for (const auto& [name, counter] : fallbacks_)
      if (counter.count > 0) out_.fallbacks.push_back(counter);
    for (const auto& [name, counter] : engaged_) out_.engaged.push_back(counter);
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw InputError(clean(out_.file) + ":" + std::to_string(line_) + ": " + what);
  }
  /// A finite number, or nothing where the field is absent or null.
  std::optional<double> number(const char* field) const { return number(*record_, field); }
  std::optional<double> number(const Json& object, const char* field) const {
    const auto at = object.find(field);
    if (at == object.end() || at->is_null()) return {};
    if (!at->is_number()) refuse(std::string(field) + ": expected a number");
    const double value = at->get<double>();
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
  }
  /// A size in MiB that some machine may have.
  std::optional<double> memory(const char* field) const {
    constexpr double kMostMib = 1e9;
    const auto value = number(field);
    return value && *value >= 0 && *value <= kMostMib ? value : std::nullopt;
  }
  std::string text(const char* field) const { return text(*record_, field); }
  std::string text(const Json& object, const char* field) const {
    const auto at = object.find(field);
    if (at == object.end()) return {};
    if (!at->is_string()) refuse(std::string(field) + ": expected text");
    return clean(at->get_ref<const std::string&>());
  }

  void keep_larger(std::optional<At>& best, std::optional<double> value) const {
    if (value && (!best || *value > best->value)) best = At{*value, line_};
  }
  void note_silence(double seconds) { keep_larger(out_.longest_silence_s, seconds); }

  void take_progress(std::optional<double> at) {
    ++out_.progress;
    if (const auto rate = number("toks_per_s"); rate && *rate >= 0) {
      out_.tok_per_s.push_back(*rate);
      out_.tok_line = line_;
    }
    if (!out_.gate_statistics && record_->contains("gate_entropy_mean"))
      out_.gate_statistics = At{number("gate_entropy_mean").value_or(0), line_};
    keep_larger(out_.fetch_p95_ms, number("fetch_p95_ms"));
    if (const auto fetch = number("dt_fetch_s")) {
      fetch_s_.push_back(*fetch);
      fetch_line_ = line_;
    }
    const auto step = number("step");
    if (at && step && progress_ts_ && *step > progress_step_)
      step_s_.push_back((*at - *progress_ts_) / (*step - progress_step_));
    if (at && step) {
      progress_ts_ = at;
      progress_step_ = *step;
    }
  }

  void take_memory() {
    const auto reserved = memory("gpu_mem_reserved"), allocated = memory("gpu_mem_alloc");
    if (!reserved || !allocated) return;
    if (out_.reserved_mib && *reserved < out_.reserved_mib->value) return;
    out_.reserved_mib = At{*reserved, line_};
    out_.allocated_mib = At{*allocated, line_};
  }

  void take_counters() {
    keep_larger(out_.slow_path_calls, number("slow_path_calls"));
    if (const auto grown = number("grow_events")) {
      if (!first_grown_) first_grown_ = grown;
      keep_larger(out_.grow_events, *grown - *first_grown_);
    }
    for (const auto& [name, value] : record_->items()) {
      if (!name.starts_with("fb_") || name == "fb_total_fallbacks") continue;
      count(fallbacks_, clean(name), number(name.c_str()));
    }
    list("engaged", "variant", engaged_);
    list("fallback", "reason", fallbacks_);
  }
  void list(const char* field, const char* what, std::map<std::string, Counter>& into) {
    const auto rows = record_->find(field);
    if (rows == record_->end()) return;
    if (!rows->is_array()) refuse(std::string(field) + ": expected a list");
    for (const Json& row : *rows) {
      if (!row.is_object()) refuse(std::string(field) + ": expected objects");
      count(into, text(row, "stage") + "/" + text(row, what), number(row, "calls"));
    }
  }
  void count(std::map<std::string, Counter>& into, const std::string& name,
             std::optional<double> value) {
    constexpr std::size_t kMaxNames = 10'000;
    if (!value || *value < 0 || *value > 9e15 || into.size() >= kMaxNames) return;
    into[name] = {name, static_cast<std::int64_t>(*value), line_};
  }

  HeartbeatEvidence out_;
  const Json* record_ = nullptr;
  std::int64_t line_ = 0, fetch_line_ = 0;
  std::optional<double> last_ts_, progress_ts_, first_grown_;
  double progress_step_ = 0;
  std::vector<double> fetch_s_, step_s_;
  std::map<std::string, Counter> fallbacks_, engaged_;
};

HeartbeatReader::HeartbeatReader(const std::string& file)
    : records_(std::make_unique<Records>(clean(file))) {}
HeartbeatReader::~HeartbeatReader() = default;

void HeartbeatReader::take(std::string_view line, bool unfinished) {
  ++lines_;
  if (line.find_first_not_of(" \t\r") == line.npos) return;
  Json record;
  try {
    record = parse_python_json(line, records_->file());
  } catch (const InputError&) {
    if (unfinished && lines_ > 1) return;  // it is being written
    throw InputError(records_->file() + ":" + std::to_string(lines_) + ": no JSON record");
  }
  records_->take(record, lines_);
}

HeartbeatEvidence HeartbeatReader::finish() { return records_->finish(); }

HeartbeatEvidence parse_heartbeat(std::string_view text, const std::string& file) {
  HeartbeatReader reader(file);
  while (!text.empty()) {
    const std::size_t at = text.find('\n');
    reader.take(text.substr(0, std::min(at, text.size())), at == text.npos);
    text.remove_prefix(at == text.npos ? text.size() : at + 1);
  }
  return reader.finish();
}

}  // namespace nsa::doctor
