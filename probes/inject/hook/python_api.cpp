#include "inject/hook/python_api.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <string_view>

namespace nsa::inject {
namespace {

template <class Function>
bool find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

}  // namespace

PythonApi::PythonApi()
    : complete_(
          find(is_initialized, "Py_IsInitialized") && find(add_pending_call, "Py_AddPendingCall") &&
          find(current_frame, "PyEval_GetFrame") && find(line_of, "PyFrame_GetLineNumber") &&
          find(hold, "Py_IncRef") && find(release, "Py_DecRef") &&
          find(attribute, "PyObject_GetAttrString") && find(utf8, "PyUnicode_AsUTF8AndSize") &&
          find(clear_error, "PyErr_Clear") && find(import, "PyImport_ImportModule") &&
          find(call_method, "PyObject_CallMethod") && find(make_function, "PyCFunction_NewEx") &&
          find(build, "Py_BuildValue") && find(main_interpreter, "PyInterpreterState_Main") &&
          find(version, "Py_GetVersion")) {
  find(caller_of, "PyFrame_GetBack");
  find(code_of, "PyFrame_GetCode");
  find(instruction_of, "PyFrame_GetLasti");
  if (!complete_) return;
  const std::string_view text = version();  // "3.12.1 (main, ..."
  if (text.starts_with("3.")) minor = std::atoi(text.data() + 2);
}

PythonApi::Object PythonApi::caller(Object frame) const {
  if (caller_of) return caller_of(frame);
  const Object back = attribute(frame, "f_back");
  if (!back) clear_error();
  // The outermost one has None there, which has no code.
  const Object code = back ? attribute(back, "f_code") : nullptr;
  if (code) {
    release(code);
    return back;
  }
  if (back) {
    clear_error();
    release(back);
  }
  return nullptr;
}

PythonApi::Object PythonApi::code(Object frame) const {
  if (code_of) return code_of(frame);
  const Object code = attribute(frame, "f_code");
  if (!code) clear_error();
  return code;
}

std::string PythonApi::text(Object object, const char* name) const {
  const Object value = attribute(object, name);
  if (!value) {
    clear_error();
    return {};
  }
  std::ptrdiff_t length = 0;
  const char* const bytes = utf8(value, &length);
  if (!bytes) clear_error();  // no text, or one that UTF-8 cannot hold
  std::string text = bytes ? std::string(bytes, static_cast<std::size_t>(length)) : std::string();
  release(value);
  return text;
}

EvalBreaker::EvalBreaker(const PythonApi& python) {
  if (python.complete() && python.minor >= 9 && python.minor <= 12) state_ = State::searched;
}

void EvalBreaker::search(const PythonApi& python) {
  constexpr std::size_t kNumbers = 256;  // 72 to 368 bytes from the front, as far as is known
  constexpr int kAgreed = 3, kAttempts = 20;
  auto* const numbers = static_cast<std::int32_t*>(python.main_interpreter());
  const auto read = [&] {
    std::array<std::int32_t, kNumbers> values{};
    for (std::size_t i = 0; i < kNumbers; ++i)
      values[i] = __atomic_load_n(numbers + i, __ATOMIC_RELAXED);
    return values;
  };
  const auto before = read();
  if (python.add_pending_call([](void*) { return 0; }, nullptr) != 0) return;
  const auto after = read();
  std::size_t first = 0;
  while (first < kNumbers && (before[first] != 0 || after[first] != 1)) ++first;
  std::int32_t* const place = first < kNumbers ? numbers + first : nullptr;
  agreed_ = place && place == place_ ? agreed_ + 1 : place ? 1 : 0;
  place_ = place;
  if (agreed_ == kAgreed) {
    state_ = State::known;
  } else if (++attempts_ == kAttempts) {
    state_ = State::not_found;
  }
}

void EvalBreaker::set() const noexcept { __atomic_store_n(place_, 1, __ATOMIC_RELEASE); }

}  // namespace nsa::inject
