#include "playback/state_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "process/child.hpp"

namespace nsa::tuner::playback {
namespace {

Fd open_locked(const std::string& path) {
  Fd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (file.get() < 0 || flock(file.get(), LOCK_EX) != 0)
    throw EnvironmentError(path + ": cannot open the state of a world: " + strerror(errno));
  return file;
}

DeviceState read_state(const std::string& path) {
  const std::string text = read_text_file(path);
  if (text.empty()) return {};
  const Json j = Json::parse(text, nullptr, false);
  const auto number = [&](const char* name) {
    const auto found = j.is_object() ? j.find(name) : j.end();
    if (found == j.end() || !found->is_number_unsigned())
      throw InputError(path + ": is not the state of a world; remove it to begin anew");
    return found->get<std::uint64_t>();
  };
  return {number("processes"), static_cast<std::int64_t>(number("launches")),
          static_cast<std::int64_t>(number("clock_ns"))};
}

void write_state(const Fd& file, const std::string& path, const DeviceState& state) {
  const Json j{
      {"processes", state.processes}, {"launches", state.launches}, {"clock_ns", state.clock_ns}};
  const std::string text = j.dump() + "\n";
  const bool written =
      pwrite(file.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
      ftruncate(file.get(), static_cast<off_t>(text.size())) == 0;
  if (!written) throw EnvironmentError(path + ": cannot write: " + strerror(errno));
}

}  // namespace

DeviceState begin_process(const std::string& path) {
  if (path.empty()) {
    DeviceState state;
    state.processes = std::random_device{}();
    return state;
  }
  const Fd file = open_locked(path);
  const DeviceState before = read_state(path);
  DeviceState after = before;
  ++after.processes;
  write_state(file, path, after);
  return before;
}

void end_process(const std::string& path, std::int64_t launches, std::int64_t clock_ns) {
  if (path.empty()) return;
  const Fd file = open_locked(path);
  DeviceState state = read_state(path);
  state.launches += launches;
  state.clock_ns += clock_ns;
  write_state(file, path, state);
}

}  // namespace nsa::tuner::playback
