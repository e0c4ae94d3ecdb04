#include "gzip_source.hpp"

#include <zlib.h>

#include <algorithm>
#include <new>

#include "nsa/schemas/error.hpp"
#include "nsa/trace/unpacked.hpp"

namespace nsa::trace {
namespace {
constexpr int kGzipOnly = 16 + MAX_WBITS;
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // zlib counts in 32 bits
}  // namespace

GzipSource::GzipSource(std::string_view packed, std::string where)
    : packed_(packed), where_(std::move(where)), stream_(std::make_unique<z_stream_s>()) {
  if (inflateInit2(stream_.get(), kGzipOnly) != Z_OK) throw std::bad_alloc();
}

GzipSource::~GzipSource() { inflateEnd(stream_.get()); }

std::size_t GzipSource::read(char* to, std::size_t capacity) {
  z_stream_s& z = *stream_;
  const auto room = static_cast<uInt>(std::min(capacity, kMostAtOnce));
  z.next_out = reinterpret_cast<Bytef*>(to);
  z.avail_out = room;
  while (z.avail_out == room && !ended_) {
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed_.data() + at_));
    const auto offered = static_cast<uInt>(std::min(packed_.size() - at_, kMostAtOnce));
    z.avail_in = offered;
    const int status = inflate(&z, Z_NO_FLUSH);
    at_ += offered - z.avail_in;
    if (status == Z_STREAM_END) {
      ended_ = !next_member();
    } else if (status == Z_BUF_ERROR || (status == Z_OK && at_ == packed_.size() && z.avail_out)) {
      fail("the gzip file ends too early (cut off)");
    } else if (status != Z_OK) {
      fail(std::string("damaged gzip data") + (z.msg ? std::string(": ") + z.msg : ""));
    }
  }
  return room - z.avail_out;
}

bool GzipSource::next_member() {
  if (at_ == packed_.size()) return false;
  if (!packed_.substr(at_).starts_with("\x1f\x8b")) fail("bytes that are not gzip follow the gzip");
  inflateReset(stream_.get());
  return true;
}

void GzipSource::fail(const std::string& what) const {
  throw InputError(where_ + ": byte " + std::to_string(at_) + " of the packed file: " + what);
}

std::string unpacked(std::string bytes, const std::string& where) {
  constexpr std::size_t kStep = std::size_t{1} << 20, kMost = std::size_t{1} << 32;
  if (!bytes.starts_with("\x1f\x8b")) return bytes;
  GzipSource source(bytes, where);
  std::string text;
  for (std::size_t read = 1; read > 0;) {
    const std::size_t size = text.size();
    if (size >= kMost) throw InputError(where + ": holds more than 4 GiB");
    text.resize(size + kStep);
    read = source.read(text.data() + size, kStep);
    text.resize(size + read);
  }
  return text;
}

}  // namespace nsa::trace
