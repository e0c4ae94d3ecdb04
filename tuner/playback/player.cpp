#include "playback/player.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <type_traits>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "playback/world.hpp"
#include "worker/failure.hpp"

namespace nsa::tuner::playback {
namespace {

constexpr std::int64_t kHostOverheadNs = 2'000;  // of a launch, on the host
constexpr std::int64_t kBetweenNs = 20'000;      // from one launch to the next

worker::OfferedVariant offer_of(const World& world, const PlayedVariant& variant) {
  return {world.stages, variant.name, {Point{}}, variant.source_hash};
}

}  // namespace

Player::Player(World world) : world_(std::move(world)) {}

Player::~Player() {
  if (!noise_) return;
  try {
    end_process(world_.state_file, noise_->launches(), clock_ns_);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "worker-sim: %s\n", error.what());
  }
}

std::optional<std::string> Player::answer(const std::string& line) {
  instead_.clear();
  twice_ = false;
  std::int64_t id = 0;
  try {
    const worker::Request request = worker::decode_request(line);
    if (std::holds_alternative<worker::ByeRequest>(request)) return std::nullopt;
    const worker::Reply reply = std::visit(
        [&](const auto& r) {
          if constexpr (requires { r.id; }) id = r.id;
          return on(r);
        },
        request);
    const std::string text = instead_.empty() ? line_of(reply) : instead_;
    return twice_ ? text + "\n" + text : text;
  } catch (const Failure& failure) {
    return line_of(worker::FailedReply{id, failure.status(), failure.what()});
  } catch (const InputError& error) {
    return line_of(worker::FailedReply{id, Outcome::bad_reply, error.what()});
  }
}

/// Hello says more than other workers do: that its clock is virtual, and what is declared.
std::string Player::line_of(const worker::Reply& reply) const {
  std::string line = worker::encode(reply);
  if (!std::holds_alternative<worker::HelloReply>(reply)) return line;
  Json hello = Json::parse(line);
  hello["simulated"] = world_.simulated;
  for (std::size_t i = 0; i < world_.variants.size(); ++i) {
    const auto& order = world_.variants[i].order;
    if (!order.empty()) hello["variants"][i]["order"] = order;
  }
  return hello.dump();
}

std::size_t Player::variant_of(const VariantId& id) const {
  const auto found =
      std::find_if(world_.variants.begin(), world_.variants.end(), [&](const PlayedVariant& v) {
        return v.name == id.name && id.stages == world_.stages && id.point.empty();
      });
  if (found == world_.variants.end())
    throw Failure(Outcome::unsupported, to_string(id) + " is not in this world");
  return static_cast<std::size_t>(found - world_.variants.begin());
}

const Player::Handle& Player::handle_of(std::int64_t id) const {
  const auto found = handles_.find(id);
  if (found == handles_.end())
    throw Failure(Outcome::bad_reply, "there is no handle " + std::to_string(id));
  return found->second;
}

/// A process has no number before it prepares something: those that only answer questions take
/// none, so that another number of questions changes no noise.
LaunchNoise& Player::noise() {
  if (!noise_) {
    before_ = begin_process(world_.state_file);
    noise_.emplace(world_, before_.processes, before_.launches);
  }
  return *noise_;
}

bool Player::has_fault(FaultKind kind, Request at, std::size_t variant, std::int64_t length) const {
  const std::int64_t launches = noise_ ? noise_->launches() : 0;
  const auto& faults = world_.variants[variant].faults;
  return std::any_of(faults.begin(), faults.end(), [&](const Fault& fault) {
    return fault.kind == kind && fault.at == at && length >= fault.from &&
           (!fault.to || length < *fault.to) && launches >= fault.after;
  });
}

/// The faults that a request of any kind may meet.
void Player::suffer(Request at, std::size_t variant, std::int64_t length) {
  const auto has = [&](FaultKind kind) { return has_fault(kind, at, variant, length); };
  if (has(FaultKind::crash)) std::raise(SIGSEGV);
  while (has(FaultKind::hang)) pause();
  if (has(FaultKind::refuse)) throw Failure(Outcome::unsupported, "this variant refuses");
  if (has(FaultKind::out_of_memory)) throw Failure(Outcome::out_of_memory, "needs 1e+06 GB");
  if (has(FaultKind::bad_reply)) instead_ = "not JSON";
  twice_ = has(FaultKind::twice);
}

Player::Launched Player::launch(const Handle& handle) {
  const PlayedVariant& variant = world_.variants[handle.variant];
  Launched launched{{}, noise().next()};
  const LaunchState& state = launched.state;
  const double ns =
      handle.true_ns * state.factor * std::pow(state.clock, -variant.clock_sensitivity);
  Sample& sample = launched.sample;
  sample.start_ns = before_.clock_ns + clock_ns_;
  sample.device_ns = std::max<std::int64_t>(1, std::llround(ns));
  sample.host_ns = sample.device_ns + kHostOverheadNs;
  sample.cycles = cycles_of(world_, variant, ns, state.clock);
  clock_ns_ += sample.host_ns + kBetweenNs;
  return launched;
}

worker::Reply Player::on(const worker::HelloRequest&) {
  worker::HelloReply reply;
  reply.worker = "nsatune worker-sim " NSA_VERSION;
  reply.executor = world_.executor;
  reply.generator = true;
  reply.verifies = world_.verifies;
  reply.device = world_.device;
  for (const PlayedVariant& variant : world_.variants)
    reply.variants.push_back(offer_of(world_, variant));
  return reply;
}

worker::Reply Player::on(const worker::DescribeRequest& request) {
  suffer(Request::describe, variant_of(request.variant), axis_value(request.problem, world_.axis));
  worker::DescribedReply reply;
  reply.id = request.id;
  reply.supported = true;
  return reply;
}

worker::Reply Player::on(const worker::PrepareRequest& request) {
  const std::size_t variant = variant_of(request.variant);
  const std::int64_t length = axis_value(request.problem, world_.axis);
  if (length < 1) throw Failure(Outcome::unsupported, "a length of 0 has no time in this world");
  noise();  // takes the number of the process
  suffer(Request::prepare, variant, length);
  const bool again =
      has_fault(FaultKind::same_handle, Request::prepare, variant, length) && next_handle_ > 1;
  const std::int64_t id = again ? next_handle_ - 1 : next_handle_++;
  if (world_.verifies) {
    if (!reference_) reference_ = std::make_unique<Reference>();
    worker::Reply reply = reference_->prepare(request, id);
    if (std::holds_alternative<worker::FailedReply>(reply)) return reply;
  }
  const PlayedVariant& v = world_.variants[variant];
  const std::uint64_t process = before_.processes;
  const double ns = true_ns(world_, variant, length) * process_effect(world_, v, process) *
                    handle_effect(world_, v, process, id);
  handles_[id] = {variant, length, ns};
  return worker::PreparedReply{request.id, id, launch(handles_[id]).sample.host_ns, 0};
}

worker::Reply Player::on(const worker::VerifyRequest& request) {
  const Handle& handle = handle_of(request.handle);
  suffer(Request::verify, handle.variant, handle.length);
  if (!reference_) throw Failure(Outcome::unsupported, "this world has no outputs (verifies)");
  return reference_->verify(
      request, has_fault(FaultKind::wrong, Request::verify, handle.variant, handle.length));
}

worker::Reply Player::on(const worker::MeasureRequest& request) {
  const Handle& handle = handle_of(request.handle);
  suffer(Request::measure, handle.variant, handle.length);
  const auto lies = [&](FaultKind kind) {
    return has_fault(kind, Request::measure, handle.variant, handle.length);
  };
  worker::MeasuredReply reply;
  reply.id = request.id;
  double clock = 0;
  std::string throttle;
  for (std::int64_t i = 0; i < request.samples; ++i) {
    auto [sample, state] = launch(handle);
    if (lies(FaultKind::too_fast)) sample.device_ns = 1;
    if (lies(FaultKind::device_over_host)) sample.host_ns = sample.device_ns / 2;
    reply.samples.push_back(sample);
    clock += state.clock;
    if (!state.throttle.empty()) throttle = state.throttle;
  }
  if (lies(FaultKind::too_few_samples)) reply.samples.pop_back();
  if (world_.clock.reported && request.samples > 0) {
    reply.clocks.sm_mhz = world_.clock.base_mhz * clock / static_cast<double>(request.samples);
    reply.clocks.throttle = throttle;
  }
  return reply;
}

worker::Reply Player::on(const worker::ReleaseRequest& request) {
  handle_of(request.handle);
  handles_.erase(request.handle);
  if (reference_) reference_->release(request.handle);
  return worker::ReleasedReply{request.id};
}

template <class Other>
worker::Reply Player::on(const Other&) {
  throw Failure(Outcome::unsupported, "a world has nothing to trace or to count");
}

}  // namespace nsa::tuner::playback
