#include "bundle.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <vector>

namespace nsa {
namespace routing {
namespace {

namespace fs = std::filesystem;

/// Factors of two between two devices, over what is known of both.
double distance(const Device& a, const Device& b) {
  double sum = 0;
  const auto add = [&](auto x, auto y) {
    if (x && y && *x > 0 && *y > 0) {
      sum += std::abs(std::log2(static_cast<double>(*x) / static_cast<double>(*y)));
    }
  };
  add(a.multiprocessors, b.multiprocessors);
  add(a.memory_bytes, b.memory_bytes);
  add(a.l2_bytes, b.l2_bytes);
  return sum;
}

std::vector<fs::path> json_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json" && entry.is_regular_file(error)) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::optional<fs::path> pick_file(const fs::path& folder, const Device& device) {
  fs::path own = folder / device_file_name(device);
  std::error_code error;
  if (fs::is_regular_file(own, error)) return own;
  std::optional<fs::path> best;
  auto best_fit = DeviceFit::built_in;
  double best_distance = std::numeric_limits<double>::infinity();
  for (const fs::path& file : json_files(folder)) {
    const auto other = read_device_block(file);
    if (!other) continue;
    const DeviceFit fit = fit_of(*other, device);
    const double d = distance(*other, device);
    const bool nearer = fit < best_fit || (fit == best_fit && d < best_distance);
    if (fit == DeviceFit::built_in || !nearer) continue;
    best = file, best_fit = fit, best_distance = d;
  }
  return best;
}

}  // namespace routing

std::string device_file_name(const Device& device) {
  std::string slug;
  for (const char c : device.name.empty() ? device.id : device.name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte)) {
      slug += static_cast<char>(std::tolower(byte));
    } else if (!slug.empty() && slug.back() != '_') {
      slug += '_';
    }
  }
  while (!slug.empty() && slug.back() == '_') slug.pop_back();
  // A slice of a GPU is another device than the whole.
  if (device.mig.value_or(false)) {
    slug += "_mig_" + std::to_string(device.multiprocessors.value_or(0)) + "sm";
  }
  return slug + ".json";
}

}  // namespace nsa
