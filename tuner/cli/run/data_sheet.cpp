#include "data_sheet.hpp"

#include <array>
#include <string_view>

namespace nsa::cli {
namespace {

/// TFLOP/s; the first row whose words all stand in the device's name counts. Sources: NVIDIA's data
/// sheets of H200, H100, A100, L40S, L4 and B200 (dense, half of the figures with sparsity) and the
/// white papers of Ada and Ampere for GeForce (fp16 and bf16 with fp32 accumulation).
struct Sheet {
  std::string_view name, also;
  double half, single;
};
constexpr std::array<Sheet, 12> kSheets{{{"B200", "", 2250, 80},
                                         {"H200", "NVL", 835.5, 60},
                                         {"H200", "", 989.4, 67},
                                         {"H100", "NVL", 835.5, 60},
                                         {"H100", "PCIe", 756, 51},
                                         {"H100", "", 989.4, 67},
                                         {"A100", "", 312, 19.5},
                                         {"L40S", "", 362, 91.6},
                                         {"L4", "", 121, 30.3},
                                         {"4090", "", 165.2, 82.6},
                                         {"3090 Ti", "", 80, 40},
                                         {"3090", "", 71, 35.6}}};

/// "L4" stands in "NVIDIA L4", and not in "NVIDIA L40".
bool holds_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || text[at - 1] == ' ';
    if (begins && (end == text.size() || text[end] == ' ' || text[end] == '-')) return true;
  }
  return word.empty();
}

}  // namespace

std::optional<double> data_sheet_flop_per_s(const Device& device, Dtype dtype) {
  if (device.backend == Backend::cpu) return std::nullopt;
  const bool half = dtype == Dtype::bf16 || dtype == Dtype::fp16;
  if (!half && dtype != Dtype::fp32) return std::nullopt;
  for (const Sheet& sheet : kSheets) {
    if (holds_word(device.name, sheet.name) && holds_word(device.name, sheet.also))
      return (half ? sheet.half : sheet.single) * 1e12;
  }
  return std::nullopt;
}

}  // namespace nsa::cli
