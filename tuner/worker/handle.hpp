// One prepared variant: its problem, inputs, outputs and workspace, ready to launch.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "nsa/kernels/catalog.hpp"
#include "nsa/kernels/device_oracle.hpp"
#include "nsa/kernels/oracle.hpp"
#include "nsa/kernels/routing.hpp"
#include "nsa/kernels/workspace.hpp"
#include "nsa/probes/graph.hpp"
#include "worker/memory.hpp"

namespace nsa::tuner {

/// Inputs of a stage and problem, shared by all handles that ask for the same seed.
class Inputs {
 public:
  /// Throws OutOfMemory.
  Inputs(PlannedInputs planned, Memory& memory)
      : planned_(std::move(planned)), placed_(memory.place(planned_)) {}

  /// For the variants.
  std::span<const TensorView> views() const { return placed_->views(); }
  /// Names and shapes, in the order of views().
  const std::vector<HostTensor>& tensors() const noexcept { return planned_.tensors; }
  /// For the oracle: the same in host memory. What was made on a device is made here when this is
  /// first called, which is seldom: most contests are of variants that are known to be right.
  const std::vector<HostTensor>& on_host() {
    generate(planned_);
    return planned_.tensors;
  }

  /// An oracle over on_host(), and how far it has come in the rows that every variant is compared
  /// in.
  struct Judge {
    std::unique_ptr<SpanOracle> oracle;
    std::vector<std::int64_t> order;  // of the rows: every prefix is spread over all of them
    std::size_t known = 0;            // rows of it whose right answers are known
    double spent_s = 0;               // on these
    double doubt_s = 0;               // on rows in which variants differ
  };
  /// For candidates or for baselines, made when it is first asked for: what lies between the
  /// stages of a composite takes seconds in fp64, and all variants of a contest share it.
  Judge& judge(std::span<const Stage> stages, const Problem& problem, Role role);
  /// The device's oracle over views(), for a stage that it covers, made when it is first asked
  /// for.
  DeviceOracle& device_judge(Stage stage, const Problem& problem);

 private:
  PlannedInputs planned_;
  std::unique_ptr<TensorSet> placed_;
  Judge nsa_, dense_;
  std::optional<Problem> judged_;  // that the device's oracle borrows
  std::optional<DeviceOracle> on_device_;
};

/// Passes on what another allocator gives and knows where it lies.
class TrackedAllocator final : public Allocator {
 public:
  explicit TrackedAllocator(Memory& memory) : memory_(memory) {}
  void* allocate(std::size_t bytes) override;
  void deallocate(void* data, std::size_t bytes) noexcept override;
  /// Fills all that is allocated now.
  void fill(std::byte value);

 private:
  Memory& memory_;
  std::map<void*, std::size_t> pieces_;  // and their bytes
};

class Handle {
 public:
  /// Makes outputs (poisoned) and workspace. Throws OutOfMemory or std::bad_alloc. `router` chooses
  /// what a composite's plan leaves open; `variant`, `memory` and it are borrowed.
  Handle(const Variant& variant, const Point& point, const Problem& problem,
         std::shared_ptr<Inputs> inputs, Memory& memory, const Router& router);

  /// Makes the workspace as good as new; not part of a timed launch.
  void reset() { workspace_.reset(); }
  /// Enqueues (CUDA) or runs (CPU) it once.
  void launch();
  /// What a timer shall call for that mode: launch(), or the replay of a graph of it, captured at
  /// the first call. Throws NotCapturable.
  using Callback = void (*)(void*);
  Callback callback(LaunchMode mode, const Device& device);
  /// launch() as a plain function.
  static void launch_of(void* handle) { static_cast<Handle*>(handle)->launch(); }
  /// Poisons the outputs and what there is of a workspace, launches and waits. The poison of the
  /// outputs is another one than before it; in the workspace every float is a NaN.
  void run_on_poison();
  /// What fills the outputs before the last launch: kPoison, until run_on_poison() changes it.
  std::byte poison() const noexcept { return poison_; }

  /// What its last timed launch took; nothing before the first.
  std::optional<std::int64_t> usual_ns() const noexcept { return usual_ns_; }
  void set_usual_ns(std::int64_t host_ns) noexcept { usual_ns_ = host_ns; }

  const Variant& variant() const noexcept { return variant_; }
  const Point& point() const noexcept { return point_; }
  const Problem& problem() const noexcept { return problem_; }
  const std::shared_ptr<Inputs>& inputs() const noexcept { return inputs_; }
  TensorSet& outputs() noexcept { return *outputs_; }
  /// The outputs of the last launch in host memory, valid until the next one; fetched once. Waits
  /// for the launch.
  const std::vector<HostTensor>& outputs_on_host();
  const Workspace& workspace() const noexcept { return workspace_; }
  Memory& memory() const noexcept { return memory_; }
  const Router& router() const noexcept { return router_; }
  CUstream_st* stream() const noexcept { return memory_.stream(); }

 private:
  const Variant& variant_;
  Point point_;
  Problem problem_, launched_;  // as it was asked, and as a launch gets it
  std::shared_ptr<Inputs> inputs_;
  Memory& memory_;
  const Router& router_;
  std::unique_ptr<TensorSet> outputs_;
  std::vector<TensorView> out_;  // of the outputs: those of the variant's signature
  bool saves_ = false;
  Saved saved_;  // forward: the other outputs; backward: what was saved, among the inputs
  const std::vector<HostTensor>* fetched_ = nullptr;  // where they are those of the last launch
  std::vector<Sequence> sequences_;
  std::shared_ptr<const Sequence> placed_sequences_;
  std::byte poison_ = kPoison;
  std::optional<std::int64_t> usual_ns_;
  TrackedAllocator allocator_;
  Workspace workspace_;
  std::unique_ptr<probes::GraphReplay> graph_;
};

}  // namespace nsa::tuner
