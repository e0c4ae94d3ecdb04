// The hook in the program: steps that it marks, and what is to be said of it.
#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "inject/hook/hook_ranges.hpp"
#include "inject/hook/python_stacks.hpp"
#include "inject/hook/recorder.hpp"
#include "inject/injector.hpp"
#include "nsa/schemas/trace_request.hpp"

namespace nsa::inject {
namespace {

bool marks_otherwise(const Window& window) {
  return !window.step_name.empty() || !window.step_kernel.empty();
}

}  // namespace

Recorder recorder_now() {
  const Injector* const here = Injector::get();
  return {here != nullptr, here && here->records()};
}

void recorder_loop_begins() {
  if (Injector* const here = Injector::get()) here->loop_begins();
}

std::int64_t recorder_step_ends() {
  Injector* const here = Injector::get();
  return here ? here->step_ends() : -1;
}

/// Not yet a step: that there are any is known when the first one ends.
void Injector::loop_begins() {
  const Window& w = request_.window;
  const std::lock_guard lock(phase_mutex_);
  if (w.kind != WindowKind::steps || marks_otherwise(w) || steps_ > 0) return;
  if (const Phase first = phase_of(w, 0); first != Phase::skipping) enter(first, true);
}

std::int64_t Injector::step_ends() {
  const Window& w = request_.window;
  const std::lock_guard lock(phase_mutex_);
  if (step_source_ == StepSource::ranges || marks_otherwise(w)) return -1;
  if (step_source_ == StepSource::none) ++steps_;  // the first one, which began unseen
  step_source_ = StepSource::hook;
  const std::int64_t index = steps_++;
  if (w.kind == WindowKind::steps) enter(phase_of(w, index), true);
  mark(spool::MarkWhat::step, index, "step " + std::to_string(index));
  return index;
}

void Injector::note_hooks() {
  HookRanges& ranges = HookRanges::get();
  const char* wanted = std::getenv(spool::kEnvPython);
  const bool is_python = dlsym(RTLD_DEFAULT, "Py_IsInitialized") != nullptr;
  if (!wanted || !*wanted || !is_python) return;
  if (!ranges.attached())
    return spool_.note(
        spool::NoteWhat::information,
        "the hook was not loaded into this Python: it has not imported torch, or was started "
        "without its environment or site (-I, -E, -S); modules have no ranges");
  const double cost_ns = ranges.cost_ns() * static_cast<double>(ranges.calls());
  const auto span_ns = static_cast<double>(ranges.calls_span_ns());
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(),
                "the hook in Python took about %.1f %% of the time: %llu calls of modules, about "
                "%.1f us each",
                span_ns > 0 ? 100 * cost_ns / span_ns : 0.0,
                static_cast<unsigned long long>(ranges.calls()), ranges.cost_ns() / 1e3);
  spool_.note(spool::NoteWhat::information, text.data());
  for (const std::string& why : ranges.stopped())
    spool_.note(spool::NoteWhat::information, "the hook in Python stopped early: " + why);
  if (ranges.has_compiled_code())
    spool_.note(spool::NoteWhat::information,
                "compiled code (torch.compile): modules inside of it have no ranges; the compiled "
                "model and each \"compiled graph\" stand for them");
  const spool::SpoolTotals totals = tracer_ ? tracer_->totals() : spool::SpoolTotals{};
  if (totals.graph_launches > 0)
    spool_.note(spool::NoteWhat::information,
                "CUDA graphs: what they replay belongs to the range in which it was captured");
}

void Injector::note_stacks() {
  const PythonStacks& stacks = PythonStacks::get();
  if (stacks.failed())
    return spool_.note(spool::NoteWhat::information,
                       "no lines of Python: this version offers no way to ask for them");
  if (stacks.taken() == 0) return;
  const auto taken = static_cast<double>(stacks.taken());
  const auto taking_ns = static_cast<double>(stacks.taking_ns());
  std::array<char, 160> text{};
  std::snprintf(
      text.data(), text.size(),
      "looking where the main thread stands in Python took %.2f %% of its time: %llu "
      "times, about %.1f us each",
      stacks.span_ns() > 0 ? 100 * taking_ns / static_cast<double>(stacks.span_ns()) : 0.0,
      static_cast<unsigned long long>(stacks.taken()), taking_ns / taken / 1e3);
  spool_.note(spool::NoteWhat::information, text.data());
}

}  // namespace nsa::inject
