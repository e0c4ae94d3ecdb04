// The worker of a world: answers requests in virtual time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "nsa/schemas/worker.hpp"
#include "playback/noise.hpp"
#include "playback/reference.hpp"
#include "playback/state_file.hpp"
#include "playback/world.hpp"

namespace nsa::tuner::playback {

class Player {
 public:
  explicit Player(World world);
  /// Hands launches and virtual time on to the next process.
  ~Player();
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  /// The line, or lines, that answer one line; nothing after bye. A variant with such a fault ends
  /// the process or never returns.
  std::optional<std::string> answer(const std::string& line);

 private:
  struct Handle {
    std::size_t variant = 0;  // index in the world
    std::int64_t length = 0;
    double true_ns = 0;  // with the effects of the process and the handle
  };
  struct Launched {
    Sample sample;
    LaunchState state;
  };

  worker::Reply on(const worker::HelloRequest& request);
  worker::Reply on(const worker::DescribeRequest& request);
  worker::Reply on(const worker::PrepareRequest& request);
  worker::Reply on(const worker::VerifyRequest& request);
  worker::Reply on(const worker::MeasureRequest& request);
  worker::Reply on(const worker::ReleaseRequest& request);
  template <class Other>
  worker::Reply on(const Other& request);

  std::string line_of(const worker::Reply& reply) const;
  const Handle& handle_of(std::int64_t id) const;
  std::size_t variant_of(const VariantId& id) const;
  bool has_fault(FaultKind kind, Request at, std::size_t variant, std::int64_t length) const;
  void suffer(Request at, std::size_t variant, std::int64_t length);
  LaunchNoise& noise();
  Launched launch(const Handle& handle);

  World world_;
  DeviceState before_;                // of the device, from the first prepare on
  std::optional<LaunchNoise> noise_;  // likewise
  std::unique_ptr<Reference> reference_;
  std::map<std::int64_t, Handle> handles_;
  std::int64_t next_handle_ = 1;
  std::int64_t clock_ns_ = 0;  // virtual time of this process
  std::string instead_;        // what goes out in the place of the reply
  bool twice_ = false;         // the reply goes out twice
};

}  // namespace nsa::tuner::playback
