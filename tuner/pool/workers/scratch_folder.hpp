// A folder for the files between us and workers, removed when we are done, or by the next sweep.
#pragma once

#include <string>

#include "process/child.hpp"

namespace nsa::tuner {

class ScratchFolder {
 public:
  /// Removes what killed sweeps left first. EnvironmentError when it cannot be made.
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const noexcept { return path_; }
  /// An empty folder in it. EnvironmentError when it cannot be made.
  std::string subfolder();
  /// Removes what is in it.
  void clear() noexcept;

 private:
  std::string path_;
  int subfolders_ = 0;
  Fd held_;  // locked as long as we live
};

}  // namespace nsa::tuner
