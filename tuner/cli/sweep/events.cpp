#include "events.hpp"

#include <cstdio>

#include "program.hpp"

namespace nsa::cli {
namespace {

void print_line(const Json& document) {
  print_text(json_text(document) + "\n");
  std::fflush(stdout);
}

}  // namespace

void SweepEvents::progress(const tuner::Progress& p) {
  next_.progress(p);
  const auto now = std::chrono::steady_clock::now();
  if (!p.variant.empty() && now < next_progress_) return;
  next_progress_ = now + std::chrono::seconds(1);
  Json line{{"event", "progress"}, {"contests_done", p.contests_done}, {"contests", p.contests},
            {"rows", p.rows},      {"failures", p.failures},           {"elapsed_s", p.elapsed_s}};
  if (p.left_s) line["left_s"] = *p.left_s;
  print_line(line);
}

void SweepEvents::note(const std::string& text) {
  next_.note(text);
  print_line({{"event", "note"}, {"reason", text}});
}

void SweepEvents::event(const tuner::Event& event) {
  next_.event(event);
  Json line{{"event", event.kind}};
  if (event.contest) {
    line["stages"] = event.contest->stages;
    line["problem"] = event.contest->problem;
  }
  if (!event.variant.empty()) line["variant"] = event.variant;
  line["reason"] = event.reason;
  print_line(line);
}

void SweepEvents::end(const Json& result) { print_line({{"event", "end"}, {"result", result}}); }

}  // namespace nsa::cli
