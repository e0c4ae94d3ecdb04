// A folder for the files between us and workers, removed when we are done.
#pragma once

#include <string>

namespace nsa::tuner {

class ScratchFolder {
 public:
  /// EnvironmentError when it cannot be made.
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const noexcept { return path_; }
  /// Removes what is in it.
  void clear() noexcept;

 private:
  std::string path_;
};

}  // namespace nsa::tuner
