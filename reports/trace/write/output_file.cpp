#include "output_file.hpp"

#include <zlib.h>

#include <utility>
#include <vector>

#include "nsa/schemas/error.hpp"

namespace nsa::trace {
namespace {

constexpr int kLevel = 6;  // as gzip itself
constexpr std::size_t kPackedBytes = 1 << 18;

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

OutputFile::OutputFile(std::string path, bool gzip) : file_(std::move(path)) {
  if (gzip) packer_ = std::make_unique<Packer>();
}

OutputFile::~OutputFile() = default;

void OutputFile::write(std::string_view bytes) {
  if (!packer_) return file_.write(bytes);
  z_stream& z = packer_->z;
  const int mode = bytes.empty() ? Z_FINISH : Z_NO_FLUSH;  // empty: from finish()
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  do {
    z.next_out = reinterpret_cast<Bytef*>(packer_->packed.data());
    z.avail_out = kPackedBytes;
    deflate(&z, mode);
    file_.write({packer_->packed.data(), kPackedBytes - z.avail_out});
  } while (z.avail_out == 0);
}

void OutputFile::finish() {
  if (packer_) write({});
  file_.finish();
}

}  // namespace nsa::trace
