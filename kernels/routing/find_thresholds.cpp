// Where the thresholds of a process come from.
#include <cstdlib>
#include <filesystem>

#include "bundle.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (!value || !*value) return std::nullopt;
  return value;
}

LoadedTable load(const fs::path& file) { return {load_thresholds(file.string()), file.string()}; }

/// What was decided on a GPU says nothing of a CPU, and the other way round. Who named the file
/// wants its decisions, so that going on without them would hide that they are not used.
LoadedTable fitting(LoadedTable loaded, const Device& device, const std::string& named_by) {
  const Device& of = loaded.table.device;
  if (of.backend == device.backend) return loaded;
  throw InputError(named_by + loaded.path + ": was decided on " + of.id + " (" + of.name +
                   ") and this runs on " + device.id +
                   "; name that device, or decide for this one with `nsatune sweep` and "
                   "`nsatune tune`");
}

/// A file, or this device's file of a folder. Errors begin with `named_by`: nothing where the
/// caller named it, who knows whether that was a flag or an argument.
LoadedTable load_named(const std::string& path, const Device& device,
                       const std::string& named_by = "") {
  std::error_code error;
  if (!fs::is_directory(path, error)) return fitting(load(path), device, named_by);
  const auto file = routing::pick_file(path, device);
  if (file) return load(*file);
  throw InputError(named_by + path + ": holds no thresholds of a " +
                   std::string(to_string(device.backend)) +
                   " device; make them with "
                   "`nsatune sweep` and `nsatune tune -o " +
                   path + "/" + device_file_name(device) + "`");
}

std::optional<LoadedTable> load_if_any(const fs::path& folder, const Device& device) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return std::nullopt;
  const auto file = routing::pick_file(folder, device);
  if (!file) return std::nullopt;
  return load(*file);
}

/// The user's data folder (XDG base directories).
std::optional<fs::path> user_folder() {
  if (const auto data = variable("XDG_DATA_HOME")) return fs::path(*data) / "nsatune/thresholds";
  if (const auto home = variable("HOME")) {
    return fs::path(*home) / ".local/share/nsatune/thresholds";
  }
  return std::nullopt;
}

/// Beside the program where it is installed, else in the source tree it was built from.
fs::path shipped_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const fs::path installed = program.parent_path() / "../share/nsatune/tuned";
    if (fs::is_directory(installed, error)) return fs::weakly_canonical(installed, error);
  }
  return NSA_TUNED_SOURCE_DIR;
}

}  // namespace

std::optional<LoadedTable> find_thresholds(const std::optional<std::string>& flag,
                                           const Device& device) {
  if (flag) return load_named(*flag, device);
  if (const auto path = variable("NSATUNE_THRESHOLDS")) {
    return load_named(*path, device, "NSATUNE_THRESHOLDS: ");
  }
  const auto folder = user_folder();
  return folder ? load_if_any(*folder, device) : std::nullopt;
}

std::optional<LoadedTable> shipped_thresholds(const Device& device) {
  if (const auto folder = variable("NSATUNE_SHIPPED")) return load_if_any(*folder, device);
  return load_if_any(shipped_folder(), device);
}

}  // namespace nsa
