#include "nsa/kernels/workspace.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace nsa {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kLeastChunk = 1u << 16;

constexpr std::size_t align_up(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

class HostAllocator final : public Allocator {
 public:
  void* allocate(std::size_t bytes) override {
    void* data = std::aligned_alloc(kAlignment, align_up(std::max(bytes, kAlignment)));
    if (!data) throw OutOfMemory("no host memory for " + std::to_string(bytes) + " bytes");
    return data;
  }
  void deallocate(void* data, std::size_t) noexcept override { std::free(data); }
};

}  // namespace

Allocator& host_allocator() noexcept {
  static HostAllocator allocator;
  return allocator;
}

Workspace::Workspace(Allocator& allocator, std::size_t reserve_bytes) : allocator_(allocator) {
  reserve(reserve_bytes);
}

Workspace::~Workspace() { release(); }

void Workspace::release() noexcept {
  for (const Chunk& chunk : chunks_) allocator_.deallocate(chunk.data, chunk.bytes);
  chunks_.clear();
  chunk_ = used_in_chunk_ = used_ = capacity_ = 0;
}

void Workspace::add_chunk(std::size_t bytes) {
  chunks_.reserve(chunks_.size() + 1);  // so that nothing can throw once memory was allocated
  chunks_.push_back({allocator_.allocate(bytes), bytes});
  capacity_ += bytes;
}

void* Workspace::take(std::size_t bytes) {
  bytes = std::max(align_up(bytes), kAlignment);
  while (chunk_ < chunks_.size() && used_in_chunk_ + bytes > chunks_[chunk_].bytes) {
    ++chunk_;
    used_in_chunk_ = 0;
  }
  if (chunk_ == chunks_.size()) {
    // At least half of what there is already: the number of grow events stays logarithmic.
    add_chunk(std::max({bytes, capacity_ / 2, kLeastChunk}));
    ++grow_events_;
    chunk_ = chunks_.size() - 1;
  }
  void* taken = static_cast<char*>(chunks_[chunk_].data) + used_in_chunk_;
  used_in_chunk_ += bytes;
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  return taken;
}

void Workspace::rewind(const Mark& mark) noexcept {
  chunk_ = mark.chunk;
  used_in_chunk_ = mark.used_in_chunk;
  used_ = mark.used;
}

void Workspace::reset() {
  chunk_ = used_in_chunk_ = used_ = 0;
  if (chunks_.size() < 2) return;
  const std::size_t total = capacity_;
  release();
  add_chunk(total);
}

void Workspace::reserve(std::size_t bytes) {
  bytes = align_up(bytes);
  if (bytes <= capacity_) return;
  expects(used_ == 0, "a workspace that nothing is taken from, to reserve");
  release();
  add_chunk(bytes);
}

void Workspace::note_need(const ReserveNeed& need) noexcept {
  need_.varlen_n = std::max(need_.varlen_n, need.varlen_n);
  need_.varlen_k = std::max(need_.varlen_k, need.varlen_k);
  need_.sel_pack_n = std::max(need_.sel_pack_n, need.sel_pack_n);
  need_.sel_pack_l = std::max(need_.sel_pack_l, need.sel_pack_l);
}

}  // namespace nsa
