// The functions of CPython that we call, found in the process: nothing is linked against it, and
// objects of it are addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace nsa::inject {

/// Of CPython 3.8 and newer (3.13 was the newest that was tried). Where a function is missing that
/// all of them have, there is no CPython here.
struct PythonApi {
  using Object = void*;  // PyObject*, PyFrameObject*, PyCodeObject*

  PythonApi();
  bool complete() const noexcept { return complete_; }

  int minor = 0;  // of the version: 12 of 3.12
  int (*is_initialized)() = nullptr;
  /// Any thread may call it; the function runs on the main thread, with Python's lock held.
  int (*add_pending_call)(int (*function)(void*), void* argument) = nullptr;
  Object (*current_frame)() = nullptr;  // borrowed, as no other one is
  int (*line_of)(Object frame) = nullptr;
  void (*hold)(Object) = nullptr;
  void (*release)(Object) = nullptr;
  Object (*attribute)(Object, const char* name) = nullptr;
  const char* (*utf8)(Object text, std::ptrdiff_t* length) = nullptr;
  void (*clear_error)() = nullptr;
  Object (*import)(const char* module) = nullptr;
  Object (*call_method)(Object, const char* method, const char* format, ...) = nullptr;
  Object (*make_function)(void* definition, Object self, Object module) = nullptr;
  Object (*build)(const char* format, ...) = nullptr;
  Object (*main_interpreter)() = nullptr;
  const char* (*version)() = nullptr;
  // Null before 3.9 and 3.11: `attribute` serves instead.
  Object (*caller_of)(Object frame) = nullptr;
  Object (*code_of)(Object frame) = nullptr;
  int (*instruction_of)(Object frame) = nullptr;

  /// The frame that called one, or null; the code of one.
  Object caller(Object frame) const;
  Object code(Object frame) const;
  /// An attribute that is a text; empty where there is none.
  std::string text(Object object, const char* name) const;

 private:
  bool complete_ = false;
};

/// Python 3.9 to 3.12 look at calls that another thread has added only once the main thread has
/// taken Python's lock again, which a loop of Python's own does not. What they look at is one
/// number of the interpreter, `eval_breaker`: 1 where there is something to do, and too often does
/// no harm. Where it lies differs by version. So it is found: it is the first number there that
/// turns from 0 to 1 when the main thread itself adds a call.
class EvalBreaker {
 public:
  enum class State { not_needed, searched, known, not_found };

  explicit EvalBreaker(const PythonApi& python);
  State state() const noexcept { return state_; }
  /// One more attempt: on the main thread, within a call that was pending.
  void search(const PythonApi& python);
  /// Any thread, once it is known.
  void set() const noexcept;

 private:
  State state_ = State::not_needed;
  std::int32_t* place_ = nullptr;
  int agreed_ = 0, attempts_ = 0;
};

}  // namespace nsa::inject
