#include "cuda/library/open_library.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

namespace nsa::cuda {

void* open_library(std::initializer_list<const char*> names, std::string& reason) {
  std::vector<std::string> folders{""};
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* root = std::getenv(name)) folders.push_back(std::string(root) + "/lib64/");
  }
  folders.emplace_back("/usr/local/cuda/lib64/");
  for (const char* name : names) {
    for (const std::string& folder : folders) {
      if (void* library = dlopen((folder + name).c_str(), RTLD_LAZY | RTLD_LOCAL)) return library;
      if (const char* error = dlerror(); error && reason.empty()) reason = error;
    }
  }
  return nullptr;
}

}  // namespace nsa::cuda
