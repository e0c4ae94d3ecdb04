#include <cstdlib>

#include "device_choice.hpp"
#include "nsa/probes/probes.hpp"
#include "program.hpp"

namespace nsa::cli {

Device chosen_device(const Settings& settings) {
  const char* variable = std::getenv("NSATUNE_DEVICE");
  const std::string named = settings.device.value_or(variable && *variable ? variable : "auto");
  if (named != "auto") return probes::require_device(named);
  const DeviceChoice choice = choose_device(probes::devices());
  if (!choice.note.empty()) say(settings, choice.note);
  return choice.device;
}

}  // namespace nsa::cli
