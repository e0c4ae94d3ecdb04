#include "worker/handle.hpp"

namespace nsa::tuner {

Handle::Handle(const Variant& variant, const Point& point, const Problem& problem,
               std::shared_ptr<Inputs> inputs, Memory& memory)
    : variant_(variant),
      point_(point),
      problem_(problem),
      inputs_(std::move(inputs)),
      memory_(memory),
      outputs_(memory.place(make_outputs(variant.stages, problem))),
      sequences_(sequences_of(problem)),
      placed_sequences_(memory.place(sequences_)),
      workspace_(memory.allocator()) {
  if (variant.workspace_bytes)
    workspace_.reserve(static_cast<std::size_t>(variant.workspace_bytes(problem)));
}

void Handle::launch() {
  static const Constants kDefaults;
  const auto outputs = outputs_->views();
  const LaunchArgs args{problem_,
                        sequences_,
                        placed_sequences_.get(),
                        inputs_->placed->views(),
                        outputs,
                        point_,
                        kDefaults,
                        workspace_,
                        memory_.stream(),
                        nullptr};
  variant_.launch(args);
}

Handle::Callback Handle::callback(LaunchMode mode, const Device& device) {
  if (mode == LaunchMode::eager) return &Handle::launch_of;
  if (!graph_) {
    reset();
    graph_ = probes::capture_graph(device, memory_.stream(), &Handle::launch_of, this);
  }
  return [](void* handle) { static_cast<Handle*>(handle)->graph_->launch(); };
}

void Handle::run_on_poison(std::byte poison) {
  outputs_->fill(poison);
  reset();
  launch();
  memory_.synchronize();
}

}  // namespace nsa::tuner
