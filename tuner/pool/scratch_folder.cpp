#include "pool/scratch_folder.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "nsa/schemas/error.hpp"

namespace nsa::tuner {

ScratchFolder::ScratchFolder() {
  std::error_code error;
  std::string pattern = std::filesystem::temp_directory_path(error).string() + "/nsatune-XXXXXX";
  if (error || !mkdtemp(pattern.data()))
    throw EnvironmentError(
        fmt::format("{}: cannot make a folder for files: {}", pattern, strerror(errno)));
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void ScratchFolder::clear() noexcept {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(path_, ignored))
    std::filesystem::remove_all(entry.path(), ignored);
}

}  // namespace nsa::tuner
