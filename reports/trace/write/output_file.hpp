// A file that is there whole or not at all.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace nsa::trace {

/// Bytes go to a temporary file beside `path`; finish() gives it its name. Until then what stood
/// there before stays. EnvironmentError when the disk does not take them.
class OutputFile {
 public:
  /// `gzip`: packed. The same bytes give the same file: no time stamp, no name.
  OutputFile(std::string path, bool gzip);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);
  void finish();

 private:
  struct Packer;
  void write_raw(const char* bytes, std::size_t size);
  [[noreturn]] void fail() const;

  std::string path_, temporary_;
  int file_ = -1;
  std::unique_ptr<Packer> packer_;
};

}  // namespace nsa::trace
