#include "nsa/kernels/workspace.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

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

struct Workspace::State {
  struct Chunk {
    void* data;
    std::size_t bytes;
  };

  explicit State(Allocator& source) : allocator(source) {}
  ~State() { release(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void release() noexcept {
    for (const Chunk& one : chunks) allocator.deallocate(one.data, one.bytes);
    chunks.clear();
    at = {};
    capacity = 0;
  }
  void add_chunk(std::size_t bytes) {
    chunks.reserve(chunks.size() + 1);  // so that nothing can throw once memory was allocated
    chunks.push_back({allocator.allocate(bytes), bytes});
    capacity += bytes;
  }

  Allocator& allocator;
  std::vector<Chunk> chunks;
  Mark at;  // the chunk that take() fills (those after it are free), and what is used over all
  std::size_t peak = 0, capacity = 0;
  std::int64_t grow_events = 0;
  ReserveNeed need;
};

Workspace::Workspace(Allocator& allocator, std::size_t reserve_bytes)
    : state_(std::make_unique<State>(allocator)) {
  reserve(reserve_bytes);
}

Workspace::~Workspace() = default;

Workspace::Mark Workspace::mark() const noexcept { return state_->at; }
std::size_t Workspace::peak_bytes() const noexcept { return state_->peak; }
std::size_t Workspace::capacity_bytes() const noexcept { return state_->capacity; }
std::int64_t Workspace::grow_events() const noexcept { return state_->grow_events; }
const ReserveNeed& Workspace::need() const noexcept { return state_->need; }

void* Workspace::take(std::size_t bytes) {
  State& s = *state_;
  bytes = std::max(align_up(bytes), kAlignment);
  while (s.at.chunk < s.chunks.size() && s.at.used_in_chunk + bytes > s.chunks[s.at.chunk].bytes) {
    ++s.at.chunk;
    s.at.used_in_chunk = 0;
  }
  if (s.at.chunk == s.chunks.size()) {
    // At least half of what there is already: the number of grow events stays logarithmic.
    s.add_chunk(std::max({bytes, s.capacity / 2, kLeastChunk}));
    ++s.grow_events;
    s.at.chunk = s.chunks.size() - 1;
  }
  void* taken = static_cast<char*>(s.chunks[s.at.chunk].data) + s.at.used_in_chunk;
  s.at.used_in_chunk += bytes;
  s.at.used += bytes;
  s.peak = std::max(s.peak, s.at.used);
  return taken;
}

void Workspace::rewind(const Mark& mark) noexcept { state_->at = mark; }

void Workspace::reset() {
  state_->at = {};
  if (state_->chunks.size() < 2) return;
  const std::size_t total = state_->capacity;
  state_->release();
  state_->add_chunk(total);
}

void Workspace::reserve(std::size_t bytes) {
  bytes = align_up(bytes);
  if (bytes <= state_->capacity) return;
  expects(state_->at.used == 0, "a workspace that nothing is taken from, to reserve");
  state_->release();
  state_->add_chunk(bytes);
}

void Workspace::note_need(const ReserveNeed& need) noexcept {
  ReserveNeed& most = state_->need;
  most.varlen_n = std::max(most.varlen_n, need.varlen_n);
  most.varlen_k = std::max(most.varlen_k, need.varlen_k);
  most.sel_pack_n = std::max(most.sel_pack_n, need.sel_pack_n);
  most.sel_pack_l = std::max(most.sel_pack_l, need.sel_pack_l);
}

}  // namespace nsa
