#include "machine/dynamic_library.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <utility>
#include <vector>

namespace nsa::probes {
namespace {

std::vector<std::string> toolkit_folders() {
  std::vector<std::string> folders;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* root = std::getenv(name)) folders.push_back(std::string(root) + "/lib64/");
  folders.emplace_back("/usr/local/cuda/lib64/");
  folders.emplace_back("/usr/local/cuda/extras/CUPTI/lib64/");
  return folders;
}

/// A library that was opened stays: the vendors' keep threads and memory of their own, which
/// unloading would leave behind.
constexpr int kFlags = RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE;

}  // namespace

DynamicLibrary::DynamicLibrary(std::span<const char* const> names) {
  std::string tried;
  for (const char* name : names) {
    handle_ = dlopen(name, kFlags);
    if (handle_) return;
    if (const char* error = dlerror(); error && reason_.empty()) reason_ = error;
    for (const std::string& folder : toolkit_folders()) {
      handle_ = dlopen((folder + name).c_str(), kFlags);
      if (handle_) {
        reason_.clear();
        return;
      }
      dlerror();
    }
    tried += tried.empty() ? name : std::string(", ") + name;
  }
  if (reason_.find("cannot open shared object file: No such file") != std::string::npos)
    reason_ = "not found (looked for " + tried + ")";
}

DynamicLibrary::~DynamicLibrary() {
  if (handle_) dlclose(handle_);
}

DynamicLibrary::DynamicLibrary(DynamicLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), reason_(std::move(other.reason_)) {}

void* DynamicLibrary::symbol(const char* name) const {
  return handle_ ? dlsym(handle_, name) : nullptr;
}

}  // namespace nsa::probes
