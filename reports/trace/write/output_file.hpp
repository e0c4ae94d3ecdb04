// A trace on its way to the disk, packed where its name asks for it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "nsa/schemas/output_path.hpp"

namespace nsa::trace {

/// Until finish(), what stood there before stays. The errors are those of WholeFile.
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

  WholeFile file_;
  std::unique_ptr<Packer> packer_;
};

}  // namespace nsa::trace
