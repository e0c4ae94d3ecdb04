#include "stage_trace.hpp"

namespace nsa::cli {

std::int64_t StageTrace::now_ns() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() -
                                                              start_)
      .count();
}

void StageTrace::stage_begin(Stage stage, std::string_view variant, std::int64_t seq_len,
                             CUstream_st* stream) {
  StageRanges::stage_begin(stage, variant, seq_len, stream);
  if (!records_) return;
  open_.push_back(events_.size());
  events_.push_back({stage, std::string(variant), seq_len, now_ns(), 0});
}

void StageTrace::stage_end(Stage stage, CUstream_st* stream) {
  StageRanges::stage_end(stage, stream);
  if (!records_) return;
  events_[open_.back()].end_ns = now_ns();
  open_.pop_back();
}

Json StageTrace::chrome_json() const {
  Json events = Json::array();
  for (const Event& event : events_) {
    events.push_back({{"name", to_string(event.stage)},
                      {"cat", "stage"},
                      {"ph", "X"},
                      {"ts", static_cast<double>(event.begin_ns) * 1e-3},
                      {"dur", static_cast<double>(event.end_ns - event.begin_ns) * 1e-3},
                      {"pid", 1},
                      {"tid", 1},
                      {"args", {{"variant", event.variant}, {"seq_len", event.seq_len}}}});
  }
  return {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
}

}  // namespace nsa::cli
