// What a hook in the program calls, by name: plain C, so that Python reaches it through ctypes.
// Objects of the program are addresses here and nothing else.
#include <exception>

#include "inject/hook/hook_ranges.hpp"

#define NSA_HOOK extern "C" __attribute__((visibility("default")))

namespace {

using nsa::inject::HookRanges;

/// Nothing of ours ends the program: without memory a range is missing.
template <class Result, class Body>
Result guarded(Result otherwise, Body body) {
  try {
    return body(HookRanges::get());
  } catch (const std::exception&) {
    return otherwise;
  }
}

template <class Body>
void guarded(Body body) {
  guarded(0, [&](HookRanges& ranges) {
    body(ranges);
    return 0;
  });
}

}  // namespace

/// A hook has come in; `cost_ns` is what one call of a module costs since then.
NSA_HOOK void nsatune_hook_attach(double cost_ns) {
  guarded([&](HookRanges& ranges) {
    ranges.attach();
    ranges.set_cost_ns(cost_ns);
  });
}

NSA_HOOK unsigned nsatune_hook_name(const char* text) {
  return guarded(0u, [&](HookRanges& ranges) { return ranges.name(text ? text : ""); });
}

NSA_HOOK unsigned nsatune_hook_module(const void* object, unsigned forward, unsigned backward,
                                      unsigned parent) {
  return guarded(
      0u, [&](HookRanges& ranges) { return ranges.add_module(object, forward, backward, parent); });
}

NSA_HOOK void nsatune_hook_forget(unsigned module) {
  guarded([&](HookRanges& ranges) { ranges.forget_module(module); });
}

/// 0: known; 1: not known, and no module that is known is open; 2: not known, inside of one.
NSA_HOOK int nsatune_hook_forward_begins(const void* object) {
  return guarded(0, [&](HookRanges& ranges) {
    switch (ranges.forward_begins(object)) {
      case HookRanges::Known::no:
        return 1;
      case HookRanges::Known::no_but_inside:
        return 2;
      default:
        return 0;
    }
  });
}

/// The module where its backward pass is wanted, else 0.
NSA_HOOK unsigned nsatune_hook_forward_ends(const void* object) {
  return guarded(0u, [&](HookRanges& ranges) { return ranges.forward_ends(object); });
}

/// 1 where a backward pass begins with it: its end is to be told.
NSA_HOOK int nsatune_hook_backward_begins(unsigned module) {
  return guarded(0, [&](HookRanges& ranges) { return ranges.backward_begins(module) ? 1 : 0; });
}

NSA_HOOK void nsatune_hook_backward_ends() {
  guarded([](HookRanges& ranges) { ranges.backward_ends(); });
}

NSA_HOOK void nsatune_hook_begin(unsigned name) {
  guarded([&](HookRanges& ranges) { ranges.begin(name); });
}

NSA_HOOK void nsatune_hook_end() {
  guarded([](HookRanges& ranges) { ranges.end(); });
}

/// The program runs code that a compiler made of modules.
NSA_HOOK void nsatune_hook_compiled_code() {
  guarded([](HookRanges& ranges) { ranges.compiled_code(); });
}

/// A hook has failed and tells nothing more: why, in a line.
NSA_HOOK void nsatune_hook_stop(const char* why) {
  guarded([&](HookRanges& ranges) { ranges.stop(why ? why : ""); });
}

/// These two may wait for the devices: not with a lock that other threads need, such as Python's.
NSA_HOOK void nsatune_hook_loop_begins() {
  guarded([](HookRanges& ranges) { ranges.loop_begins(); });
}

NSA_HOOK void nsatune_hook_step_ends() {
  guarded([](HookRanges& ranges) { ranges.step_ends(); });
}
