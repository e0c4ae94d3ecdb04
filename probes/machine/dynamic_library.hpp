// A shared library that is opened at run time, because it may be absent.
#pragma once

#include <span>
#include <string>

namespace nsa::probes {

/// Owns a dlopen handle; empty with a reason when nothing could be opened.
class DynamicLibrary {
 public:
  /// Tries each name as the loader finds it, then in the folders of a CUDA toolkit.
  explicit DynamicLibrary(std::span<const char* const> names);
  ~DynamicLibrary();
  DynamicLibrary(DynamicLibrary&& other) noexcept;
  DynamicLibrary(const DynamicLibrary&) = delete;
  DynamicLibrary& operator=(const DynamicLibrary&) = delete;

  explicit operator bool() const noexcept { return handle_ != nullptr; }
  const std::string& reason() const noexcept { return reason_; }
  /// The function of that name, or null.
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;
  void* handle_ = nullptr;
  std::string reason_;
};

}  // namespace nsa::probes
