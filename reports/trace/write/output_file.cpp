#include "output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "nsa/schemas/error.hpp"

namespace nsa::trace {
namespace {

constexpr int kLevel = 6;  // as gzip itself
constexpr std::size_t kPackedBytes = 1 << 18;

/// What a new file would get; mkstemp gives it to its owner alone.
mode_t usual_mode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

}  // namespace

struct OutputFile::Packer {
  Packer() {
    if (deflateInit2(&z, kLevel, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
      throw EnvironmentError("not enough memory to pack a file");
  }
  ~Packer() { deflateEnd(&z); }
  z_stream z{};
  std::vector<char> packed = std::vector<char>(kPackedBytes);
};

OutputFile::OutputFile(std::string path, bool gzip)
    : path_(std::move(path)), temporary_(path_ + ".XXXXXX") {
  if (gzip) packer_ = std::make_unique<Packer>();
  file_ = mkostemp(temporary_.data(), O_CLOEXEC);
  if (file_ < 0) fail();
  fchmod(file_, usual_mode());
}

OutputFile::~OutputFile() {
  if (file_ < 0) return;
  close(file_);
  unlink(temporary_.c_str());
}

void OutputFile::fail() const {
  throw EnvironmentError(path_ + ": cannot write it: " + std::strerror(errno));
}

void OutputFile::write_raw(const char* bytes, std::size_t size) {
  while (size != 0) {
    const ssize_t written = ::write(file_, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail();
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
}

void OutputFile::write(std::string_view bytes) {
  if (!packer_) return write_raw(bytes.data(), bytes.size());
  z_stream& z = packer_->z;
  const int mode = bytes.empty() ? Z_FINISH : Z_NO_FLUSH;  // empty: from finish()
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  do {
    z.next_out = reinterpret_cast<Bytef*>(packer_->packed.data());
    z.avail_out = kPackedBytes;
    deflate(&z, mode);
    write_raw(packer_->packed.data(), kPackedBytes - z.avail_out);
  } while (z.avail_out == 0);
}

void OutputFile::finish() {
  if (packer_) write({});
  const int file = file_;
  if (close(file) != 0) fail();
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail();
  file_ = -1;
}

}  // namespace nsa::trace
