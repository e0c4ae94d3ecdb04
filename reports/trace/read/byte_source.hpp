// Bytes in order, from memory, from a mapped file or out of a gzip stream.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace nsa::trace {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Copies up to `capacity` bytes to `to`; 0 only at the end. InputError when the bytes are
  /// damaged.
  virtual std::size_t read(char* to, std::size_t capacity) = 0;
  /// How much of the input was read, from 0 to 1; of a packed one about so much of the text.
  virtual double share_read() const = 0;
};

/// A file of the disk in memory, whose pages can be given back once they were read, or what came
/// through a pipe.
class MappedFile {
 public:
  /// InputError when it is missing, neither regular file nor pipe, or empty.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::string_view bytes() const noexcept { return bytes_; }
  bool piped() const noexcept { return !piped_.empty(); }

 private:
  std::string piped_;
  std::string_view bytes_;
};

/// Unpacks when `bytes` begin as gzip does. `mapped`: pages already read may be given back to the
/// system.
std::unique_ptr<ByteSource> open_bytes(std::string_view bytes, const std::string& where,
                                       bool mapped);

}  // namespace nsa::trace
