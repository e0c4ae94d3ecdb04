#include "cuda/oracle/chunks.hpp"

#include <algorithm>
#include <bit>
#include <chrono>

namespace nsa::cuda {
namespace {

/// Numbers of a chunk, which are on the device at a time.
constexpr std::int64_t kChunkNumbers = std::int64_t{1} << 23;  // 64 MiB of fp64

std::vector<Chunk> in_chunks(std::int64_t rows, std::int64_t numbers) {
  const std::int64_t most =
      std::max<std::int64_t>(1, kChunkNumbers / std::max<std::int64_t>(1, numbers));
  std::vector<Chunk> chunks;
  for (std::int64_t first = 0; first < rows; first += most)
    chunks.push_back({chunks.size(), first, std::min(most, rows - first)});
  return chunks;
}

bool worth_keeping(std::int64_t numbers) {
  constexpr std::size_t kShare = 8;  // of what is free: workspaces may still grow
  return static_cast<std::size_t>(numbers) * sizeof(double) <=
         device::memory_info().free_bytes / kShare;
}

/// Chunks in steps that halve: every prefix of them is spread over all.
std::vector<std::size_t> spread_order(std::size_t chunks) {
  std::vector<std::size_t> order;
  if (chunks > 0) order.push_back(0);
  for (std::size_t step = std::bit_ceil(chunks); step > 1; step /= 2)
    for (std::size_t chunk = step / 2; chunk < chunks; chunk += step) order.push_back(chunk);
  return order;
}

}  // namespace

device::Buffer upload_sequences(const Problem& problem, CUstream_st* stream) {
  const std::vector<Sequence> sequences = sequences_of(problem);
  device::Buffer buffer(sequences.size() * sizeof(Sequence));
  device::copy_to_device(buffer.data(), sequences.data(), buffer.bytes(), stream);
  device::synchronize(stream);
  return buffer;
}

ChunkJudge::Checks ChunkJudge::check(std::span<const TensorView> outputs, double budget_s,
                                     CUstream_st* stream) {
  using Clock = std::chrono::steady_clock;
  const TensorView& output = outputs[0];
  const std::int64_t rows = output.shape[0];
  if (rows == 0) return {};
  const std::int64_t elements = output.elements() / rows;
  const std::vector<Chunk> chunks = in_chunks(rows, numbers_);
  const bool keep = known_.size() == chunks.size() || worth_keeping(rows * numbers_);
  const device::Buffer checked(static_cast<std::size_t>(chunks[0].count) * sizeof(RowCheck));
  std::vector<RowCheck> of_chunk(static_cast<std::size_t>(chunks[0].count));
  begin(outputs, stream);
  Checks checks;
  for (const std::size_t i : spread_order(chunks.size())) {
    const Chunk& chunk = chunks[i];
    const bool is_known = known_.contains(i);
    if (!checks.empty() && !is_known && spent_s_ > budget_s) continue;
    const auto start = Clock::now();
    const double* numbers = expected(chunk, keep, stream);
    compare_rows(output, chunk.first, chunk.count, elements, numbers, tolerance_,
                 static_cast<RowCheck*>(checked.data()), stream);
    const auto count = static_cast<std::size_t>(chunk.count);
    device::copy_to_host(of_chunk.data(), checked.data(), count * sizeof(RowCheck), stream);
    device::synchronize(stream);
    add_to(chunk, std::span(of_chunk).first(count));
    for (std::int64_t row = 0; row < chunk.count; ++row)
      checks[chunk.first + row] = of_chunk[static_cast<std::size_t>(row)];
    if (!is_known) spent_s_ += std::chrono::duration<double>(Clock::now() - start).count();
    if (keep) known_.insert(i);
  }
  return checks;
}

}  // namespace nsa::cuda
