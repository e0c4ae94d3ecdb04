// NSA attention over tensors of your own, on a CPU or a GPU; prints which rows of the table ran.
// usage: attention [cpu|cuda:0] [TOKENS]
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nsa/kernels/device_memory.hpp>
#include <nsa/kernels/runtime.hpp>
#include <nsa/kernels/stream.hpp>

namespace {

/// Where the tensors lie and the work runs.
struct Place {
  bool gpu = false;
  nsa::Device device;  // a CPU, unless something else is said
  std::optional<nsa::device::Stream> own_stream;

  explicit Place(const std::string& name) : gpu(name != "cpu") {
    if (!gpu) return;
    if (name != "cuda:0") throw nsa::InputError(name + " is neither cpu nor cuda:0");
    nsa::device::select(0);
    device = nsa::device::current();
    own_stream.emplace();
  }
  CUstream_st* stream() const { return own_stream ? own_stream->get() : nullptr; }
};

/// fp32 tensors with numbers like those of activations. Memory of yours takes the same way: a view
/// is an address, a dtype, a shape and strides in elements.
class Tensors {
 public:
  explicit Tensors(const Place& place) : place_(place) {}

  nsa::TensorView make(std::initializer_list<std::int64_t> shape) {
    nsa::TensorView view = nsa::make_view(nullptr, nsa::Dtype::fp32, shape);
    auto& numbers = *on_host_.emplace_back(
        std::make_unique<std::vector<float>>(static_cast<std::size_t>(view.elements())));
    for (float& x : numbers) x = std::sin(0.37f * static_cast<float>(count_++));
    view.data = numbers.data();
    if (place_.gpu) {
      view.data = on_device_.emplace_back(view.bytes()).data();
      nsa::device::copy_to_device(view.data, numbers.data(), view.bytes(), place_.stream());
    }
    return view;
  }

 private:
  const Place& place_;
  std::int64_t count_ = 0;
  std::vector<std::unique_ptr<std::vector<float>>> on_host_;
  std::vector<nsa::device::Buffer> on_device_;
};

/// What attention() reads and writes; without a cache all tokens are new.
nsa::AttentionTensors make_tensors(Tensors& tensors, const nsa::Problem& p) {
  const std::int64_t tokens = p.total_tokens(), hidden = p.head_dim_k / 2;
  const auto kv = [&] {
    return nsa::KvTensors{.k = tensors.make({tokens, p.kv_heads, p.head_dim_k}),
                          .v = tensors.make({tokens, p.kv_heads, p.head_dim_v})};
  };
  return {.q = tensors.make({tokens, p.q_heads, p.head_dim_k}),
          .cmp = kv(),
          .sel = kv(),
          .win = kv(),
          .gate = {.fc1_w = tensors.make({hidden, p.head_dim_k}),
                   .fc1_b = tensors.make({hidden}),
                   .fc2_w = tensors.make({3, hidden}),
                   .fc2_b = tensors.make({3})},
          .o = tensors.make({tokens, p.q_heads, p.head_dim_v}),
          .blocks = {}};
}

void run(const std::string& device, std::int64_t tokens) {
  const Place place(device);
  nsa::Problem problem;
  problem.seq_lens = {tokens};
  problem.dtype = nsa::Dtype::fp32;
  nsa::require_valid(problem, "command line");

  Tensors tensors(place);
  const nsa::AttentionTensors attention = make_tensors(tensors, problem);
  const nsa::Router router(place.device);
  nsa::Workspace workspace(place.gpu ? nsa::device::allocator() : nsa::host_allocator());
  nsa::Telemetry telemetry;
  nsa::Context context;
  context.router = &router;
  context.workspace = &workspace;
  context.telemetry = &telemetry;
  context.stream = place.stream();
  nsa::attention(context, problem, attention);

  float first = 0;
  if (place.gpu) {
    nsa::device::copy_to_host(&first, attention.o.data, sizeof(first), place.stream());
    nsa::device::synchronize(place.stream());
  } else {
    first = *attention.o.as<float>();
  }
  std::cout << "attention over " << tokens << " tokens on " << place.device.id
            << ": o[0] = " << first << "\nwhat ran:\n";
  for (const auto& [what, calls] : telemetry.report().engaged)
    std::cout << "  " << what.first << '/' << what.second << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? argv[1] : "cpu", argc > 2 ? std::stoll(argv[2]) : 1024);
  } catch (const std::exception& error) {
    std::cerr << "attention: " << error.what() << '\n';
    return 2;
  }
  return 0;
}
