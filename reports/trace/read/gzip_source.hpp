// Unpacks gzip as it is read; several members one after the other are one text, as in gzip itself.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "byte_source.hpp"

struct z_stream_s;

namespace nsa::trace {

class GzipSource : public ByteSource {
 public:
  GzipSource(std::string_view packed, std::string where);
  ~GzipSource() override;
  /// InputError with the offset in the packed file when it is damaged or cut.
  std::size_t read(char* to, std::size_t capacity) override;
  double share_read() const override {
    return static_cast<double>(at_) / static_cast<double>(packed_.size());
  }

 private:
  bool next_member();
  [[noreturn]] void fail(const std::string& what) const;

  std::string_view packed_;
  std::string where_;
  std::unique_ptr<z_stream_s> stream_;
  std::size_t at_ = 0;  // in packed_
  bool ended_ = false;
};

}  // namespace nsa::trace
