// What the hooks of a program ask of the recording; the injected library's Injector answers.
#pragma once

#include <cstdint>

namespace nsa::inject {

struct Recorder {
  bool there = false;    // the program uses CUDA, and is recorded now or later
  bool records = false;  // now
};
Recorder recorder_now();

/// The program does what belongs to its first step: where that is to be recorded, recording begins.
void recorder_loop_begins();
/// A step ends and the next begins; its number, from 1. -1 where the program marks its steps
/// itself, which goes before.
std::int64_t recorder_step_ends();

}  // namespace nsa::inject
