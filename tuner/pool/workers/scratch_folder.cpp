#include "pool/workers/scratch_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "nsa/schemas/error.hpp"

namespace nsa::tuner {
namespace {

namespace fs = std::filesystem;
constexpr const char* kPrefix = "nsatune-sweep-";

Fd open_folder(const std::string& path) {
  return Fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/// Whether the path still names the folder that is open: another sweep may have removed it.
bool still_there(const Fd& folder, const std::string& path) {
  struct stat opened {};
  struct stat named {};
  return fstat(folder.get(), &opened) == 0 && lstat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/// Folders of ours that nobody holds: their sweep was killed. Inputs of long sequences are large.
void remove_abandoned(const fs::path& parent) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    if (!entry.path().filename().string().starts_with(kPrefix)) continue;
    const Fd folder = open_folder(entry.path().string());
    struct stat status {};
    const bool ours =
        folder.get() >= 0 && fstat(folder.get(), &status) == 0 && status.st_uid == geteuid();
    if (ours && flock(folder.get(), LOCK_EX | LOCK_NB) == 0) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

ScratchFolder::ScratchFolder() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  remove_abandoned(parent);
  for (;;) {
    std::string pattern = (parent / kPrefix).string() + "XXXXXX";
    if (error || !mkdtemp(pattern.data()))
      throw EnvironmentError(
          fmt::format("{}: cannot make a folder for files: {}", pattern, strerror(errno)));
    path_ = pattern;
    held_ = open_folder(path_);
    // Until it is held, another sweep may take it for abandoned and remove it.
    if (held_.get() < 0 && errno == ENOENT) continue;
    if (held_.get() < 0)
      throw EnvironmentError(fmt::format("{}: cannot be opened: {}", path_, strerror(errno)));
    flock(held_.get(), LOCK_EX);  // gone with this process, however it ends
    if (still_there(held_, path_)) return;
  }
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string ScratchFolder::subfolder() {
  std::string path = fmt::format("{}/{}", path_, subfolders_++);
  std::error_code error;
  if (!fs::create_directory(path, error))
    throw EnvironmentError(fmt::format("{}: cannot make a folder for files: {}", path,
                                       error ? error.message() : "it is there"));
  return path;
}

void ScratchFolder::clear() noexcept {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path_, ignored))
    fs::remove_all(entry.path(), ignored);
}

}  // namespace nsa::tuner
