#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace nsa::probes {

/// The bytes of a CUuuid as NVML and nvidia-smi write them: "GPU-01234567-89ab-...".
inline std::string uuid_text(const char (&bytes)[16]) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    std::array<char, 3> hex{};
    std::snprintf(hex.data(), hex.size(), "%02x", static_cast<unsigned char>(bytes[i]));
    text += hex.data();
  }
  return text;
}

}  // namespace nsa::probes
