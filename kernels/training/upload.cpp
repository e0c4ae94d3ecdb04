#include "training/upload.hpp"

#include <cstring>
#include <vector>

namespace nsa::training {
namespace {

class HostUpload final : public Upload {
 public:
  explicit HostUpload(std::size_t bytes) : bytes_(bytes) {}
  std::span<char> next() override { return bytes_; }
  void send(void* to, CUstream_st*) override { std::memcpy(to, bytes_.data(), bytes_.size()); }

 private:
  std::vector<char> bytes_;
};

}  // namespace

std::unique_ptr<Upload> make_upload(Backend backend, std::size_t bytes) {
  if (backend == Backend::cuda) return make_cuda_upload(bytes);
  return std::make_unique<HostUpload>(bytes);
}

}  // namespace nsa::training
