#include "worker/handle.hpp"

#include "nsa/kernels/directions.hpp"

namespace nsa::tuner {

namespace {

constexpr std::byte kOtherPoison{0x5A};
// A NaN in every float type, -1 as an integer. The outputs' poison would be a harmless 1e-16.
constexpr std::byte kWorkspacePoison{0xFF};

/// 0 .. rows-1 in steps that halve: every prefix of it is spread over all rows.
std::vector<std::int64_t> spread_order(std::int64_t rows) {
  std::vector<std::int64_t> order;
  std::int64_t step = 1;
  while (step < rows) step *= 2;
  if (rows > 0) order.push_back(0);
  for (; step > 1; step /= 2) {
    for (std::int64_t row = step / 2; row < rows; row += step) order.push_back(row);
  }
  return order;
}

/// What a forward pass saved, by its name, among the inputs of a backward one.
Saved saved_among(const Inputs& inputs) {
  Saved saved;
  const auto views = inputs.views();
  for (std::size_t i = 0; i < views.size(); ++i) {
    const std::string& name = inputs.tensors()[i].name;
    if (name == "lse_cmp") saved.lse_cmp = views[i];
    if (name == "lse_sel") saved.lse_sel = views[i];
    if (name == "lse_win") saved.lse_win = views[i];
  }
  return saved;
}

}  // namespace

Inputs::Judge& Inputs::judge(std::span<const Stage> stages, const Problem& problem, Role role) {
  Judge& judge = role == Role::baseline ? dense_ : nsa_;
  if (!judge.oracle) {
    std::vector<TensorView> views;
    for (const HostTensor& tensor : on_host()) views.push_back(tensor.view());
    judge.oracle = std::make_unique<SpanOracle>(stages, problem, views, AttentionOptions{}, role,
                                                HeadSample::of(problem));
    judge.order = spread_order(judge.oracle->rows());
  }
  return judge;
}

DeviceOracle& Inputs::device_judge(Stage stage, const Problem& problem) {
  if (on_device_) return *on_device_;
  judged_ = problem;
  return on_device_.emplace(stage, *judged_, views());
}

void* TrackedAllocator::allocate(std::size_t bytes) {
  void* data = memory_.allocator().allocate(bytes);
  pieces_[data] = bytes;
  return data;
}

void TrackedAllocator::deallocate(void* data, std::size_t bytes) noexcept {
  pieces_.erase(data);
  memory_.allocator().deallocate(data, bytes);
}

void TrackedAllocator::fill(std::byte value) {
  for (const auto& [data, bytes] : pieces_) memory_.fill(data, value, bytes);
}

Handle::Handle(const Variant& variant, const Point& point, const Problem& problem,
               std::shared_ptr<Inputs> inputs, Memory& memory, const Router& router)
    : variant_(variant),
      point_(point),
      problem_(problem),
      launched_(launched(problem)),
      inputs_(std::move(inputs)),
      memory_(memory),
      router_(router),
      outputs_(memory.place_filled(output_shapes(variant.stages, problem), kPoison)),
      sequences_(sequences_of(problem)),
      placed_sequences_(memory.place(sequences_)),
      allocator_(memory),
      workspace_(allocator_) {
  SplitOutputs split = split_outputs(variant.stages, problem, outputs_->views());
  out_ = std::move(split.out);
  saves_ = problem.direction == kForwardSaving;
  saved_ = saves_ ? split.saved : saved_among(*inputs_);
  workspace_.reserve(static_cast<std::size_t>(workspace_of(variant, problem)));
}

void Handle::launch() {
  static const AttentionOptions kDefaults;
  fetched_ = nullptr;
  const bool backward = variant_.direction == Direction::backward;
  auto inputs = inputs_->views();
  inputs = inputs.first(signature_of(variant_.stages, variant_.direction).inputs.size());
  variant_.launch({.row = variant_,
                   .problem = launched_,
                   .sequences = sequences_,
                   .device_sequences = placed_sequences_.get(),
                   .in = inputs,
                   .out = out_,
                   .point = point_,
                   .options = kDefaults,
                   .workspace = workspace_,
                   .stream = memory_.stream(),
                   .saved = backward || saves_ ? &saved_ : nullptr,
                   .router = &router_});
}

Handle::Callback Handle::callback(LaunchMode mode, const Device& device) {
  fetched_ = nullptr;  // replays do not come by launch()
  if (mode == LaunchMode::eager) return &Handle::launch_of;
  if (!graph_) {
    reset();
    graph_ = probes::capture_graph(device, memory_.stream(), &Handle::launch_of, this);
  }
  return [](void* handle) { static_cast<Handle*>(handle)->graph_->launch(); };
}

const std::vector<HostTensor>& Handle::outputs_on_host() {
  if (!fetched_) fetched_ = &outputs_->on_host();
  return *fetched_;
}

void Handle::run_on_poison() {
  poison_ = poison_ == kPoison ? kOtherPoison : kPoison;
  outputs_->fill(poison_);
  reset();
  allocator_.fill(kWorkspacePoison);
  launch();
  memory_.synchronize();
}

}  // namespace nsa::tuner
