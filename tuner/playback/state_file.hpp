// What one process of a world hands on to the next: without it, all would play the same noise.
#pragma once

#include <cstdint>
#include <string>

namespace nsa::tuner::playback {

/// Where a device stands. A process that ends well adds what it did; one that dies leaves it.
struct DeviceState {
  std::uint64_t processes = 0;  // that have measured, or begun to
  std::int64_t launches = 0;    // of all of them
  std::int64_t clock_ns = 0;    // virtual time
};

/// Takes the next process number: the state before it, with the number in `processes`. The file is
/// locked meanwhile, made where it is missing. "" = no file: a number drawn at random. InputError
/// where the file holds something else, EnvironmentError where it cannot be written.
DeviceState begin_process(const std::string& path);
/// Adds launches and virtual time of a process that ends.
void end_process(const std::string& path, std::int64_t launches, std::int64_t clock_ns);

}  // namespace nsa::tuner::playback
