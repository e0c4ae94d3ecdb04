#include <algorithm>
#include <cmath>
#include <cstring>

#include "cpu/convert.hpp"
#include "nsa/kernels/device_memory.hpp"
#include "nsa/kernels/inputs.hpp"
#include "training/arenas.hpp"
#include "training/masters.hpp"
#include "training/memory.hpp"
#include "training/step.hpp"
#include "training/upload.hpp"

namespace nsa::training {
namespace {

/// Memory of an allocator.
class Owned {
 public:
  Owned(Allocator& allocator, std::size_t bytes)
      : allocator_(&allocator), bytes_(bytes), data_(allocator.allocate(bytes)) {}
  ~Owned() { allocator_->deallocate(data_, bytes_); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  void* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }
  TensorView view(Dtype dtype) const {
    return make_view(data_, dtype, {static_cast<std::int64_t>(bytes_ / size_of(dtype))});
  }

 private:
  Allocator* allocator_;
  std::size_t bytes_;
  void* data_;
};

std::size_t bytes_of(Dtype dtype, std::int64_t count) {
  return static_cast<std::size_t>(count) * size_of(dtype);
}

constexpr const char* kMasters = "masters";

/// Weights of the seed in the wider type, which the model's are rounded from.
HostTensor wide_weights(const ModelConfig& config, std::uint64_t seed) {
  ModelConfig wide = config;
  wide.dtype = state_dtype(config);
  return make_weights(wide, seed);
}

HostTensor rounded(const HostTensor& wide, Dtype dtype) {
  const std::int64_t count = wide.shape.shape[0];
  HostTensor narrow{"weights", {dtype, 1, {count, 0, 0, 0}}, {}};
  narrow.make_room();
  constexpr std::int64_t kPiece = 4096;
  double values[kPiece];
  for (std::int64_t from = 0; from < count; from += kPiece) {
    const std::int64_t n = std::min(kPiece, count - from);
    load_row(wide.view(), from, n, values);
    store_row(narrow.view(), from, n, values);
  }
  return narrow;
}

}  // namespace

struct Trainer::Impl {
  Impl(const Context& c, const TrainingConfig& t, Allocator& allocator, std::uint64_t seed)
      : context(c),
        config(t),
        backend(c.router->inputs().device.backend),
        ops(backend == Backend::cpu ? cpu_training_ops() : cuda_training_ops()),
        forward(batch_problem(t, Direction::forward)),
        backward(batch_problem(t, Direction::backward)),
        sequences(sequences_of(forward)),
        attention(choose_attention(*c.router, forward)),
        count(parameter_count(t.model)),
        wide(state_dtype(t.model)),
        need(step_bytes(*c.router, t, c.options)),
        weights(allocator, bytes_of(t.model.dtype, count)),
        moment1(allocator, bytes_of(wide, count)),
        moment2(allocator, bytes_of(wide, count)),
        inputs(allocator, static_cast<std::size_t>(inputs_bytes(t))),
        scalars(allocator, sizeof(StepScalars)),
        history(allocator, kHistory * sizeof(StepResult)),
        block(allocator, need.block),
        piece(block.data(), block.bytes()),
        kept(piece, need.block),
        places(allocator),
        arena(allocator),
        upload(make_upload(backend, inputs.bytes())) {
    if (const std::size_t each = master_bytes(t.model.dtype); has_masters(t))
      masters = std::make_unique<Owned>(allocator, each * static_cast<std::size_t>(count));
    if (!gradients_share(t)) gradients = std::make_unique<Owned>(allocator, bytes_of(wide, count));
    context.within = &attention;
    context.workspace = &places;
    placed = place_sequences(context, sequences);
    context.workspace = &arena;
    bind();
    initialise(seed);
    arena.reserve(need.scratch);
  }

  /// At the end of what a step keeps, or by themselves.
  TensorView gradients_view() const {
    if (gradients) return gradients->view(wide);
    TensorView flat = make_view(nullptr, wide, {count});
    flat.data = static_cast<char*>(block.data()) + block.bytes() - flat_bytes(flat);
    return flat;
  }

  /// Whether a master is a weight and its low half.
  bool halves() const { return masters && config.model.dtype == Dtype::bf16; }

  void bind() {
    state.flat = {.weights = weights.view(config.model.dtype),
                  .gradients = gradients_view(),
                  .moment1 = moment1.view(wide),
                  .moment2 = moment2.view(wide),
                  .masters = masters && !halves() ? masters->view(wide) : TensorView{},
                  .low_halves = halves() ? static_cast<std::int16_t*>(masters->data()) : nullptr};
    state.weights = bind_weights(config.model, state.flat.weights);
    state.gradients = bind_weights(config.model, state.flat.gradients);
    auto* at = static_cast<char*>(inputs.data());
    state.inputs = reinterpret_cast<const StepInputs*>(at);
    at += sizeof(StepInputs);
    const std::int64_t tokens = config.tokens_per_step();
    state.tokens = make_view(at, Dtype::int32, {tokens});
    state.targets = make_view(at + tokens * 4, Dtype::int32, {tokens});
    state.scalars = static_cast<StepScalars*>(scalars.data());
    state.history = static_cast<StepResult*>(history.data());
  }

  void initialise(std::uint64_t seed) {
    const HostTensor first = wide_weights(config.model, seed);
    if (masters) write_masters(first.bytes);
    if (!halves()) {
      const HostTensor stored = rounded(first, config.model.dtype);
      write(weights.data(), stored.bytes.data(), stored.bytes.size());
    }
    for (const TensorView& x : {state.flat.gradients, state.flat.moment1, state.flat.moment2})
      ops.zero(context, x);
    const StepScalars zeros;
    write(scalars.data(), &zeros, sizeof zeros);
    ops.zero(context, history.view(Dtype::int32));
    synchronize();
  }

  void write(void* to, const void* from, std::size_t bytes) const {
    if (backend == Backend::cpu) {
      std::memcpy(to, from, bytes);
    } else {
      device::copy_to_device(to, from, bytes, context.stream);
    }
  }
  void read(void* to, const void* from, std::size_t bytes) const {
    if (backend == Backend::cpu) {
      std::memcpy(to, from, bytes);
    } else {
      device::copy_to_host(to, from, bytes, context.stream);
      device::synchronize(context.stream);
    }
  }

  /// From and to fp32; where they are halves, the weights are their other half.
  void write_masters(std::span<const std::byte> wide_bytes) const {
    if (!halves()) return write(masters->data(), wide_bytes.data(), wide_bytes.size());
    std::vector<std::uint16_t> upper(static_cast<std::size_t>(count));
    std::vector<std::int16_t> low(upper.size());
    split_masters(reinterpret_cast<const float*>(wide_bytes.data()), count, upper.data(),
                  low.data());
    write(weights.data(), upper.data(), weights.bytes());
    write(masters->data(), low.data(), masters->bytes());
    synchronize();
  }
  std::vector<std::byte> read_masters() const {
    std::vector<std::byte> wide_bytes(bytes_of(wide, count));
    if (!halves()) {
      read(wide_bytes.data(), masters->data(), wide_bytes.size());
      return wide_bytes;
    }
    std::vector<std::uint16_t> upper(static_cast<std::size_t>(count));
    std::vector<std::int16_t> low(upper.size());
    read(upper.data(), weights.data(), weights.bytes());
    read(low.data(), masters->data(), masters->bytes());
    join_masters(upper.data(), low.data(), count, reinterpret_cast<float*>(wide_bytes.data()));
    return wide_bytes;
  }
  void synchronize() const {
    if (backend != Backend::cpu) device::synchronize(context.stream);
  }

  StepContext step_context(StepObserver* observer) {
    return {{.context = context,
             .forward = forward,
             .backward = backward,
             .sequences = placed,
             .stages = ops_of(context),
             .deterministic = config.deterministic,
             .backward_telemetry = backward_telemetry,
             .observer = observer},
            config,
            ops,
            kept};
  }

  /// Numbers, tokens and targets of the step, to where it reads them: one copy.
  void send(std::span<const std::int32_t> tokens) {
    const std::int64_t row = config.seq_len, rows = config.accumulate * config.batch;
    expects(static_cast<std::int64_t>(tokens.size()) == rows * (row + 1),
            "tokens [accumulate, batch, seq_len + 1]");
    const auto t = static_cast<double>(done + 1);
    const StepInputs numbers{.rate = rate_of(config.rate, done),
                             .correction1 = 1 - std::pow(config.optimizer.beta1, t),
                             .correction2 = 1 - std::pow(config.optimizer.beta2, t),
                             .step = done};
    char* to = upload->next().data();
    std::memcpy(to, &numbers, sizeof numbers);
    to += sizeof numbers;
    for (const std::int64_t shift : {0, 1}) {
      for (std::int64_t r = 0; r < rows; ++r, to += row * 4)
        std::memcpy(to, tokens.data() + r * (row + 1) + shift, static_cast<std::size_t>(row) * 4);
    }
    upload->send(inputs.data(), context.stream);
  }

  /// Parts of the state that are as they lie on the device.
  std::vector<NamedTensor> plain_state() const {
    return {{"weights", state.flat.weights},
            {"moment1", state.flat.moment1},
            {"moment2", state.flat.moment2}};
  }

  TensorView plain_part(const std::string& name) const {
    const std::vector<NamedTensor> parts = plain_state();
    const auto found = std::ranges::find(parts, name, &NamedTensor::name);
    expects(found != parts.end(), "a part of the state");
    return found->view;
  }

  void launch(StepObserver* observer) {
    between = std::max(between, run_step(step_context(observer), state).between);
  }

  Context context;
  TrainingConfig config;
  Backend backend;
  const TrainingOps& ops;
  Problem forward, backward;
  std::vector<Sequence> sequences;
  Choice attention;
  std::int64_t count;
  Dtype wide;
  StepBytes need;  // as predicted
  Owned weights, moment1, moment2;
  std::unique_ptr<Owned> masters;    // fp32, or the low halves of them
  std::unique_ptr<Owned> gradients;  // where they do not lie among what a step keeps
  Owned inputs, scalars, history;
  Owned block;  // what a step keeps between its passes
  Piece piece;
  Workspace kept, places, arena;
  std::unique_ptr<Upload> upload;
  PlacedSequences placed;
  StepState state;
  Telemetry* backward_telemetry = nullptr;
  std::function<void()> replay_graph;
  std::int64_t done = 0;
  std::size_t between = 0;  // bytes that were kept between the passes
};

Trainer::Trainer(const Context& context, const TrainingConfig& config, Allocator& allocator,
                 std::uint64_t seed)
    : impl_(std::make_unique<Impl>(context, config, allocator, seed)) {}

Trainer::~Trainer() {
  try {
    impl_->synchronize();
  } catch (...) {  // the device is lost; its memory goes with it
  }
}

const TrainingConfig& Trainer::config() const noexcept { return impl_->config; }

void Trainer::step(std::span<const std::int32_t> tokens, StepObserver* observer) {
  impl_->send(tokens);
  if (impl_->replay_graph) {
    impl_->replay_graph();
  } else {
    impl_->launch(observer);
  }
  ++impl_->done;
  // What the first step grew becomes one piece, which a graph may hold.
  if (impl_->done == 1 && impl_->arena.grow_events() > 0) {
    impl_->synchronize();
    impl_->arena.reset();
  }
}

void Trainer::replay(std::span<const std::int32_t> tokens, StepObserver* observer) {
  impl_->send(tokens);
  const StepContext step = impl_->step_context(observer);
  impl_->ops.begin_step(impl_->context, impl_->state.inputs, impl_->state.scalars);
  run_batches(step, impl_->state);
  impl_->synchronize();
}

void Trainer::use_graph(const Capture& capture) {
  impl_->replay_graph = capture([this] { impl_->launch(nullptr); });
}

void Trainer::count_backward(Telemetry* telemetry) { impl_->backward_telemetry = telemetry; }

std::int64_t Trainer::steps_done() const noexcept { return impl_->done; }

std::vector<StepResult> Trainer::results(std::int64_t count) const {
  std::vector<StepResult> ring(kHistory), last;
  impl_->read(ring.data(), impl_->history.data(), impl_->history.bytes());
  count = std::min({count, impl_->done, kHistory});
  for (std::int64_t step = impl_->done - count; step < impl_->done; ++step)
    last.push_back(ring[static_cast<std::size_t>(step % kHistory)]);
  return last;
}

std::optional<std::int64_t> Trainer::bad_step() const {
  StepScalars scalars;
  impl_->read(&scalars, impl_->scalars.data(), sizeof scalars);
  if (scalars.bad_step == 0) return std::nullopt;
  return scalars.bad_step - 1;
}

std::vector<Trainer::StatePart> Trainer::state_parts() const {
  std::vector<StatePart> parts;
  for (const auto& [name, view] : impl_->plain_state()) parts.push_back({name, view.dtype, {}});
  if (impl_->masters) parts.push_back({kMasters, impl_->wide, {}});
  return parts;
}

Trainer::StatePart Trainer::state_part(const std::string& name) const {
  if (impl_->masters && name == kMasters) return {name, impl_->wide, impl_->read_masters()};
  const TensorView view = impl_->plain_part(name);
  return {name, view.dtype, read(view)};
}

void Trainer::set_state_part(const StatePart& part) {
  if (!impl_->masters || part.name != kMasters)
    return write(impl_->plain_part(part.name), part.bytes);
  expects(part.bytes.size() == bytes_of(impl_->wide, impl_->count), "a master for each weight");
  impl_->write_masters(part.bytes);
}

void Trainer::set_steps(std::int64_t steps) noexcept { impl_->done = steps; }

std::vector<Trainer::StatePart> Trainer::state() const {
  std::vector<StatePart> all = state_parts();
  for (StatePart& part : all) part = state_part(part.name);
  return all;
}

void Trainer::set_state(std::span<const StatePart> state, std::int64_t steps) {
  const std::vector<StatePart> parts = state_parts();
  expects(std::ranges::equal(state, parts, {}, &StatePart::name, &StatePart::name),
          "all parts of the state");
  for (const StatePart& part : state) set_state_part(part);
  set_steps(steps);
}

std::vector<Trainer::NamedTensor> Trainer::parameters() const {
  return named_parameters(impl_->config.model, impl_->state.flat.weights);
}
std::vector<Trainer::NamedTensor> Trainer::gradients() const {
  return named_parameters(impl_->config.model, impl_->state.flat.gradients);
}

std::vector<std::byte> Trainer::read(const TensorView& tensor) const {
  std::vector<std::byte> bytes(tensor.bytes());
  impl_->read(bytes.data(), tensor.data, bytes.size());
  return bytes;
}

void Trainer::write(const TensorView& tensor, std::span<const std::byte> bytes) {
  expects(bytes.size() == tensor.bytes(), "the bytes of the tensor");
  impl_->write(tensor.data, bytes.data(), bytes.size());
}

TrainingMemory Trainer::memory() const {
  return memory_of(impl_->config, {.between = impl_->between,
                                   .kept_peak = impl_->kept.peak_bytes(),
                                   .block = impl_->block.bytes(),
                                   .scratch = impl_->arena.peak_bytes()});
}

std::int64_t Trainer::reserved_bytes() const noexcept {
  return static_cast<std::int64_t>(impl_->arena.capacity_bytes() + impl_->block.bytes());
}

std::int64_t Trainer::grow_events() const noexcept { return impl_->arena.grow_events(); }

}  // namespace nsa::training
