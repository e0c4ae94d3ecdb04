// What happens to launches beyond the truth: the clock, which all variants follow by their
// sensitivity, and what hits one launch alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "playback/random.hpp"
#include "playback/world.hpp"

namespace nsa::tuner::playback {

/// One launch of whatever variant.
struct LaunchState {
  double clock = 1;      // over base_mhz
  double factor = 1;     // on the time of this launch alone
  std::string throttle;  // reasons; "" = none
};

/// The launches of one process, one after another. The same world, process number and first launch
/// give the same states.
class LaunchNoise {
 public:
  /// `process`: which process of the device; `first_launch`: launches of the device before it. The
  /// world is borrowed.
  LaunchNoise(const World& world, std::uint64_t process, std::int64_t first_launch);
  LaunchState next();
  /// Launches of this process so far.
  std::int64_t launches() const noexcept { return launch_; }

 private:
  double wander();
  void play_recorded(LaunchState& state);
  std::uint64_t draw(Stream stream) const noexcept;

  const World& world_;
  std::uint64_t process_;
  std::int64_t first_launch_, launch_ = 0;
  double wander_ = 0;  // log of the correlated part of the clock
};

/// Factor on all times of a variant in a process, and of one handle there.
double process_effect(const World& world, const PlayedVariant& variant, std::uint64_t process);
double handle_effect(const World& world, const PlayedVariant& variant, std::uint64_t process,
                     std::int64_t handle);
/// Cycles that the counter shows for a launch of `ns` at that clock; nothing where it has none.
std::optional<std::int64_t> cycles_of(const World& world, const PlayedVariant& variant, double ns,
                                      double clock);

}  // namespace nsa::tuner::playback
