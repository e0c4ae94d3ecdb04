#include "worker/session.hpp"

#include <fmt/format.h>

#include <chrono>
#include <type_traits>

#include "nsa/kernels/directions.hpp"
#include "nsa/kernels/vendor.hpp"
#include "nsa/schemas/cuda/out_of_memory.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/executor.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/tuner/safetensors.hpp"
#include "worker/failure.hpp"
#include "worker/verify.hpp"

namespace nsa::tuner {
namespace {

constexpr std::uint64_t kMaxInputBytes = std::uint64_t{1} << 40;
/// A launch of that length is not made another by 0.1 ms of cold code.
constexpr std::int64_t kSettledNs = 20'000'000;

template <class Request>
std::int64_t id_of(const Request& request) {
  if constexpr (requires { request.id; }) return request.id;
  return 0;
}

/// A device that cannot even be opened says nothing of a variant.
template <class Request>
Outcome outcome_of(const CudaError& error) {
  if (std::is_same_v<Request, worker::HelloRequest>) return Outcome::unsupported;
  return is_out_of_memory(error) ? Outcome::out_of_memory : Outcome::crashed;
}

worker::OfferedVariant offer_of(const Variant& variant, Direction direction) {
  worker::OfferedVariant offer;
  for (const Stage stage : variant.stages) offer.stages.emplace_back(to_string(stage));
  offer.name = variant.name;
  offer.direction = direction;
  for (const VariantId& id : ids_of(variant)) offer.points.push_back(id.point);
  offer.source_hash = variant.source_hash;
  if (variant.order)
    offer.order = {{"seq_len", variant.order->seq_len},
                   {"context_len", variant.order->context_len}};
  return offer;
}

std::string what_it_needs(const Variant& variant, const Problem& problem) {
  auto bytes = static_cast<double>(workspace_of(variant, problem));
  const MergedSignature signature = signature_of(variant.stages, problem.direction);
  for (const auto& side : {signature.inputs, signature.outputs}) {
    for (const TensorSpec& spec : side) {
      const TensorShape shape = shape_of(variant.stages, spec.name, problem);
      double size = static_cast<double>(size_of(shape.dtype));
      for (int i = 0; i < shape.rank; ++i)
        size *= static_cast<double>(shape.shape[static_cast<std::size_t>(i)]);
      bytes += size;
    }
  }
  return fmt::format("needs about {:.3g} GB", bytes * 1e-9);
}

}  // namespace

Session::Session(std::string device, ServeOptions options)
    : only_device_(std::move(device)), options_(options) {}

worker::Reply Session::answer(const worker::Request& request) {
  return std::visit(
      [this](const auto& r) -> worker::Reply {
        const auto failed = [&](Outcome status, const std::string& reason) {
          return worker::FailedReply{id_of(r), status, reason};
        };
        try {
          return on(r);
        } catch (const Failure& failure) {
          return failed(failure.status(), failure.what());
        } catch (const OutOfMemory& error) {
          return failed(Outcome::out_of_memory, error.what());
        } catch (const CudaError& error) {
          return failed(outcome_of<std::decay_t<decltype(r)>>(error), advice_for(error));
        } catch (const std::bad_alloc&) {
          return failed(Outcome::out_of_memory, "no memory is left under the limit of the worker");
        } catch (const InputError& error) {
          return failed(Outcome::unsupported, error.what());
        } catch (const probes::NotCapturable& error) {
          return failed(Outcome::unsupported, error.what());
        } catch (const EnvironmentError& error) {
          return failed(Outcome::unsupported, error.what());
        } catch (const std::exception& error) {
          return failed(Outcome::crashed, error.what());
        }
      },
      request);
}

worker::Reply Session::on(const worker::HelloRequest& request) {
  if (!only_device_.empty() && request.device != only_device_)
    throw InputError(
        fmt::format("this worker was started for {}, not for {}", only_device_, request.device));
  device_ = probes::require_device(request.device);
  memory_ = make_memory(device_);
  router_.emplace(device_);
  worker::HelloReply reply;
  reply.worker = "nsatune " NSA_VERSION;
  reply.executor = kOwnExecutor;
  reply.generator = true;
  reply.verifies = true;
  reply.device = device_;
  for (const Variant& variant : catalog()) {
    if (variant.backend != device_.backend) continue;
    for (const Direction direction : directions_of(variant))
      reply.variants.push_back(offer_of(variant, direction));
  }
  return reply;
}

/// The row of the table, when it is built and supports the problem here.
const Variant& Session::runnable(const VariantId& id, const Problem& problem) const {
  if (!memory_) throw Failure(Outcome::bad_reply, "hello comes first");
  if (const auto violation = find_violation(problem)) throw InputError("problem" + *violation);
  const Variant* variant = find_variant(id, device_.backend, problem.direction);
  if (!variant)
    throw InputError(fmt::format("{} is not in the table for {}", to_string(id), device_.id));
  if (!variant->launch)
    throw Failure(Outcome::not_built, fmt::format("{} is not in this build: {}", to_string(id),
                                                  why_not_built(*variant)));
  const Support support = nsa::supports(*variant, problem, device_);
  if (!support.supported) throw InputError(support.reason());
  return *variant;
}

worker::Reply Session::on(const worker::DescribeRequest& request) {
  worker::DescribedReply reply;
  reply.id = request.id;
  try {
    const Variant& variant = runnable(request.variant, request.problem);
    reply.supported = true;
    if (variant.cost) {
      const Cost cost = variant.cost(request.problem);
      reply.flop = cost.flop;
      reply.bytes = cost.bytes;
    }
    reply.workspace_bytes = workspace_of(variant, request.problem);
  } catch (const InputError& error) {
    reply.reason = error.what();
  }
  return reply;
}

std::shared_ptr<Inputs> Session::inputs_of(const worker::PrepareRequest& request,
                                           std::span<const Stage> stages) {
  const std::string key =
      fmt::format("{} {} {} {}", fmt::join(request.variant.stages, "+"),
                  Json(request.problem).dump(), request.seed, request.inputs.value_or(""));
  if (auto known = inputs_[key].lock()) return known;
  auto made = std::make_shared<Inputs>(
      request.inputs ? PlannedInputs{read_safetensors(*request.inputs, kMaxInputBytes), {}}
                     : plan_inputs(stages, request.problem, request.seed),
      *memory_);
  inputs_[key] = made;
  return made;
}

worker::Reply Session::on(const worker::PrepareRequest& request) {
  const Variant& variant = runnable(request.variant, request.problem);
  set_beacon(fmt::format("preparing {}", to_string(request.variant)));
  try {
    auto handle = std::make_unique<Handle>(variant, request.variant.point, request.problem,
                                           inputs_of(request, variant.stages), *memory_, *router_);
    const auto start = std::chrono::steady_clock::now();
    handle->launch();
    memory_->synchronize();
    const auto took = std::chrono::steady_clock::now() - start;
    worker::PreparedReply reply;
    reply.id = request.id;
    reply.handle = next_handle_++;
    reply.first_call_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(took).count();
    reply.workspace_bytes = static_cast<std::int64_t>(handle->workspace().peak_bytes());
    handles_[reply.handle] = std::move(handle);
    return reply;
  } catch (const OutOfMemory& error) {
    throw Failure(Outcome::out_of_memory,
                  fmt::format("{}: {}", what_it_needs(variant, request.problem), error.what()));
  } catch (const std::bad_alloc&) {
    throw Failure(Outcome::out_of_memory, fmt::format("{}, more than the worker may have",
                                                      what_it_needs(variant, request.problem)));
  }
}

Handle& Session::handle_of(std::int64_t id) {
  const auto found = handles_.find(id);
  if (found == handles_.end())
    throw Failure(Outcome::bad_reply, fmt::format("there is no handle {}", id));
  return *found->second;
}

worker::Reply Session::on(const worker::VerifyRequest& request) {
  Handle& handle = handle_of(request.handle);
  set_beacon(fmt::format("verifying {}", handle.variant().name));
  std::vector<Handle*> others;
  for (const auto& [id, other] : handles_) {
    if (id != request.handle) others.push_back(other.get());
  }
  return verify(handle, request, device_, others, options_.oracle_budget_s);
}

probes::LaunchTimer& Session::timer_of(Timer timer) {
  auto& made = timers_[timer];
  if (!made) made = probes::make_timer(device_, timer, memory_->stream());
  return *made;
}

worker::Reply Session::on(const worker::MeasureRequest& request) {
  constexpr std::int64_t kMaxSamples = 1'000'000;
  Handle& handle = handle_of(request.handle);
  if (request.samples < 1 || request.samples > kMaxSamples)
    throw InputError(fmt::format("{} samples; ask for 1 to {}", request.samples, kMaxSamples));
  set_beacon(fmt::format("measuring {}", handle.variant().name));
  counters_.reset();  // who counts is in the way of every launch
  probes::LaunchTimer& timer = timer_of(request.timer);
  const Handle::Callback call = handle.callback(request.launch, device_);
  worker::MeasuredReply reply;
  reply.id = request.id;
  const std::int64_t grown = handle.workspace().grow_events();
  const auto sample = [&](bool cold) {
    if (request.launch == LaunchMode::eager) handle.reset();  // a graph holds its workspace
    if (cold) timer.flush_caches();
    const Sample taken = timer.time(call, &handle);
    handle.set_usual_ns(taken.host_ns);
    return taken;
  };
  // Other variants ran before: the first launch of a visit finds cold code on the host and on the
  // device. Where that could count, it is not kept, and needs no cold caches then.
  const bool to_keep = handle.usual_ns().value_or(kSettledNs) >= kSettledNs;
  const Sample first = sample(request.cold && to_keep);
  if (to_keep && first.host_ns >= kSettledNs) reply.samples.push_back(first);
  while (static_cast<std::int64_t>(reply.samples.size()) < request.samples)
    reply.samples.push_back(sample(request.cold));
  reply.clocks = timer.clocks();
  reply.grow_events = handle.workspace().grow_events() - grown;
  reply.need = handle.workspace().need();
  reply.note = timer.take_note();
  return reply;
}

worker::Reply Session::on(const worker::ReleaseRequest& request) {
  handle_of(request.handle);
  handles_.erase(request.handle);
  return worker::ReleasedReply{request.id};
}

worker::Reply Session::on(const worker::ByeRequest&) {
  throw Failure(Outcome::bad_reply, "bye has no reply");
}

}  // namespace nsa::tuner
