// `batched_streams`: the window branch beside the others, with the same numbers.
#include <thread>

#include "gpu.hpp"
#include "nsa/probes/graph.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

constexpr Stage kAttention[] = {Stage::attention};

/// A problem whose branches overlap for long enough to show a missing order.
Problem attention_problem(std::int64_t tokens) {
  Problem p = small_problem({tokens, tokens / 3}, {0, 0}, 12, 2, 64, 64, Dtype::bf16);
  p.geometry = Geometry{};
  return p;
}

/// One row of attention, launched on a stream of its own.
class Attention {
 public:
  Attention(std::string_view row, const Problem& p)
      : in_(upload(make_inputs(kAttention, p, 21), stream_.get())),
        out_(upload(make_outputs(kAttention, p), stream_.get())),
        launchable_(cuda_row(kAttention, row), p, views(in_), views(out_), stream_.get()) {}
  void launch() { launchable_.launch(); }
  CUstream_st* stream() const { return stream_.get(); }
  /// Bytes of o.
  HostBytes output() const { return out_[0].download(stream_.get()).bytes; }
  void poison() {
    device::fill(out_[0].view().data, std::byte{0xff}, out_[0].view().bytes(), stream_.get());
  }

 private:
  Stream stream_;
  std::vector<DeviceTensor> in_, out_;
  Launchable launchable_;
};

/// A row and one that writes the same bits with the window on a stream of its own. `fused_block`,
/// whose thread blocks wait for one another, is compared with its own first launch.
auto rows_to_compare() {
  constexpr auto kBlock = "batched_streams_fused_block";
  return Catch::Generators::table<const char*, const char*>(
      {{"batched", "batched_streams"}, {kBlock, kBlock}});
}

}  // namespace

TEST_CASE("attention on two streams writes what it writes on one, eager and as a graph", "[gpu]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const auto [alone, beside] = GENERATE(rows_to_compare());
  const Problem p = attention_problem(sanitized() ? 200 : 3000);
  Attention one(alone, p), two(beside, p);
  one.launch();
  const auto expected = one.output();
  for (int i = 0; i < 5; ++i) {
    two.poison();
    two.launch();
    CHECK(two.output() == expected);
  }
  const auto graph = probes::capture_graph(
      *device, two.stream(), [](void* self) { static_cast<Attention*>(self)->launch(); }, &two);
  for (int i = 0; i < 5; ++i) {
    two.poison();
    graph->launch();
    CHECK(two.output() == expected);
  }
}

TEST_CASE("threads that run attention on two streams each keep their order", "[gpu]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const auto [alone, beside] = GENERATE(rows_to_compare());
  const Problem p = attention_problem(sanitized() ? 100 : 1000);
  Attention one(alone, p);
  one.launch();
  const auto expected = one.output();
  std::vector<std::string> wrong(4);
  std::vector<std::thread> threads;
  for (std::string& said : wrong) {
    threads.emplace_back([&, row = beside] {
      try {
        Attention two(row, p);
        for (int i = 0; i < (sanitized() ? 2 : 50); ++i) {
          two.poison();
          two.launch();
          if (two.output() != expected) said = "differs at launch " + std::to_string(i);
        }
      } catch (const std::exception& error) {
        said = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<std::string>(4));
}
