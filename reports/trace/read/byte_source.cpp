#include "byte_source.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "gzip_source.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::trace {
namespace {

constexpr std::size_t kGiveBackBytes = 2 << 20;

bool is_pipe(int file) {
  struct stat about {};
  return fstat(file, &about) == 0 && S_ISFIFO(about.st_mode);
}

/// A pipe that nobody writes to is empty, as a file would be: waiting for one could take for ever.
std::string drain(int file, const std::string& path) {
  fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK);
  std::string all;
  std::array<char, 1 << 16> piece;
  for (ssize_t got = 0; (got = read(file, piece.data(), piece.size())) != 0;) {
    if (got < 0 && errno != EINTR) throw InputError(path + ": " + std::strerror(errno));
    if (got > 0) all.append(piece.data(), static_cast<std::size_t>(got));
  }
  if (all.empty()) throw InputError(path + ": byte 0: nothing came through the pipe");
  return all;
}

std::string_view map_whole(int file, const std::string& path) {
  struct stat about {};
  if (fstat(file, &about) != 0) throw InputError(path + ": " + std::strerror(errno));
  if (!S_ISREG(about.st_mode)) throw InputError(path + ": is not a regular file");
  if (about.st_size == 0) throw InputError(path + ": byte 0: the file is empty");
  const auto size = static_cast<std::size_t>(about.st_size);
  void* at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (at == MAP_FAILED) throw EnvironmentError(path + ": cannot map it: " + std::strerror(errno));
  madvise(at, size, MADV_SEQUENTIAL);
  return {static_cast<const char*>(at), size};
}

/// Reads what is in memory; of a mapped file only the last pages stay resident.
class MemorySource : public ByteSource {
 public:
  MemorySource(std::string_view bytes, bool mapped) : bytes_(bytes), mapped_(mapped) {}

  std::size_t read(char* to, std::size_t capacity) override {
    const std::size_t count = std::min(capacity, bytes_.size() - at_);
    std::memcpy(to, bytes_.data() + at_, count);
    at_ += count;
    if (mapped_ && at_ - given_back_ >= kGiveBackBytes) {
      madvise(const_cast<char*>(bytes_.data()) + given_back_, kGiveBackBytes, MADV_DONTNEED);
      given_back_ += kGiveBackBytes;
    }
    return count;
  }
  double share_read() const override {
    return bytes_.empty() ? 1 : static_cast<double>(at_) / static_cast<double>(bytes_.size());
  }

 private:
  std::string_view bytes_;
  bool mapped_;
  std::size_t at_ = 0, given_back_ = 0;
};

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) throw InputError(path + ": " + std::strerror(errno));
  try {
    if (is_pipe(file)) piped_ = drain(file, path);
    bytes_ = piped() ? piped_ : map_whole(file, path);
  } catch (...) {
    close(file);
    throw;
  }
  close(file);
}

MappedFile::~MappedFile() {
  if (!piped()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

std::unique_ptr<ByteSource> open_bytes(std::string_view bytes, const std::string& where,
                                       bool mapped) {
  if (bytes.starts_with("\x1f\x8b")) return std::make_unique<GzipSource>(bytes, where);
  return std::make_unique<MemorySource>(bytes, mapped);
}

}  // namespace nsa::trace
