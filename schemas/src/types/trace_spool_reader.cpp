#include "nsa/schemas/trace_spool_reader.hpp"

#include "nsa/schemas/error.hpp"

namespace nsa::spool {

bool is_spool(std::string_view bytes) noexcept {
  return bytes.substr(0, sizeof kMagic) == std::string_view(kMagic, sizeof kMagic);
}

SpoolCursor::SpoolCursor(std::string_view bytes, std::string where)
    : bytes_(bytes), where_(std::move(where)) {
  if (!is_spool(bytes_)) fail("this is not a spool of a tracer");
  if (bytes_.size() < sizeof header_) fail("the file ends inside of its header");
  std::memcpy(&header_, bytes_.data(), sizeof header_);
  if (header_.byte_order != kByteOrder) fail("a spool of a machine with another byte order");
  if (header_.version != kVersion)
    fail("a spool of version " + std::to_string(header_.version) + "; this program reads version " +
         std::to_string(kVersion));
  if (header_.header_bytes < sizeof header_ || header_.header_bytes % 8 != 0 ||
      header_.header_bytes > bytes_.size())
    fail("a header of " + std::to_string(header_.header_bytes) + " bytes");
  next_ = header_.header_bytes;
}

bool SpoolCursor::end_torn() noexcept {
  torn_ = bytes_.size() - at_;
  next_ = bytes_.size();
  return false;
}

bool SpoolCursor::next() {
  at_ = next_;
  const std::size_t left = bytes_.size() - at_;
  if (left == 0) return false;
  if (left < sizeof record_) return end_torn();
  std::memcpy(&record_, bytes_.data() + at_, sizeof record_);
  if (record_.kind == Kind::none && record_.bytes == 0) {
    if (bytes_.find_first_not_of('\0', at_) != bytes_.npos) fail("a gap between the records");
    return end_torn();
  }
  if (record_.bytes < sizeof record_ || record_.bytes % 8 != 0 || record_.bytes > kMaxRecordBytes)
    fail("a record of " + std::to_string(record_.bytes) + " bytes");
  if (record_.bytes > left) return end_torn();
  next_ = at_ + record_.bytes;
  return true;
}

std::string_view SpoolCursor::text(const SpoolText& text) const {
  if (text.length > record_.bytes - sizeof text) fail("a text that is longer than its record");
  return bytes_.substr(at_ + sizeof text, text.length);
}

void SpoolCursor::fail(const std::string& what) const {
  throw InputError(where_ + ": byte " + std::to_string(at_) + ": " + what);
}

}  // namespace nsa::spool
