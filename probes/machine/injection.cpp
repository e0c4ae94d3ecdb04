#include "nsa/probes/injection.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/trace_request.hpp"

namespace nsa::probes {

namespace fs = std::filesystem;

std::string tracer_library(const std::string& given) {
  std::vector<fs::path> places{given};
  if (given.empty()) {
    const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
    places = {folder / spool::kInjectionLibrary};
    for (const char* libraries : {NSATUNE_LIBDIR, "lib"})
      places.push_back(folder / ".." / libraries / "nsatune" / spool::kInjectionLibrary);
  }
  std::error_code error;
  for (const fs::path& place : places)
    if (fs::is_regular_file(place, error)) return fs::canonical(place).string();
  throw EnvironmentError(places.front().string() +
                         ": not there; it is what records. It is built where the CUDA toolkit is "
                         "(preset cuda), or give --library FILE");
}

std::string python_hook_folder(const std::string& library) {
  const fs::path folder = fs::path(library).parent_path() / spool::kPythonHookFolder;
  std::error_code error;
  return fs::is_regular_file(folder / "sitecustomize.py", error) ? folder.string() : std::string();
}

std::string other_tracer(const std::string& library) {
  for (const char* name : {spool::kEnvCudaInjection, spool::kEnvNvtxInjection}) {
    const char* value = std::getenv(name);
    if (value && *value && value != library)
      return std::string(name) + " is set to " + value + ": another tool traces already; unset it";
  }
  return {};
}

Variables tracer_variables(const std::string& library, const std::string& folder) {
  return {{spool::kEnvFolder, folder},
          {spool::kEnvCudaInjection, library},
          {spool::kEnvNvtxInjection, library}};
}

std::vector<std::string> environment_with(const Variables& variables) {
  std::vector<std::string> out;
  for (char** at = environ; *at; ++at) {
    const std::string_view entry(*at);
    bool replaced = false;
    for (const auto& [name, value] : variables)
      replaced |= entry.substr(0, entry.find('=')) == name;
    if (!replaced) out.emplace_back(entry);
  }
  for (const auto& [name, value] : variables) out.emplace_back(name).append("=").append(value);
  return out;
}

}  // namespace nsa::probes
