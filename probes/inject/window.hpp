// Which part of a program is recorded. Pure: what the environment asks for, and where the n-th step
// or call falls.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace nsa::inject {

enum class WindowKind { all, steps, seconds, calls, profiler_api };

struct Window {
  WindowKind kind = WindowKind::all;
  std::int64_t skip = 0, warmup = 0, count = 0;  // steps or calls; count 0 = all that follow
  std::int64_t skip_ms = 0, duration_ms = 0;     // seconds; duration 0 = to the end
  std::string step_name;                         // empty: names that look like steps
  std::string step_kernel;                       // part of the name of a kernel that begins a step
};

struct Request {
  std::string folder;  // of the spools; empty = nothing is asked for
  Window window;
  std::int64_t hang_ms = 0;  // 0 = never
  bool end_on_hang = false;
  bool all_calls = false;
  std::int64_t python_stacks_us = 0;           // 0 = none
  std::set<std::string, std::less<>> without;  // sync, memory, overhead: kinds of records
  std::string complaint;  // what of the environment could not be understood, in one line
};

/// Of the variables in schemas/trace_request.hpp; `get` is getenv.
Request read_request(const std::function<const char*(const char*)>& get);

enum class Phase { skipping, warming_up, recording, done };

/// Phase of the unit (step or call) of that index, from 0.
Phase phase_of(const Window& window, std::int64_t index);
/// Before the first unit: what warms up or records from the first unit on does so from the start.
Phase first_phase(const Window& window);

/// A name that says step, if only likely; or exactly `wanted`.
bool is_step_name(std::string_view name, std::string_view wanted);

}  // namespace nsa::inject
