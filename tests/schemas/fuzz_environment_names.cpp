// libFuzzer: lines of NAME=value are an environment. A value that is refused or warned about is
// said on one line without control characters; asking for values never fails.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "nsa/schemas/env_names.hpp"

namespace {

constexpr std::size_t kMaxEntries = 32;  // more take longer and find no more

void check_line(const std::string& line) {
  for (const char c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> entries;
  while (!text.empty() && entries.size() < kMaxEntries) {
    const std::size_t end = text.find('\n');
    entries.emplace_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  const nsa::EnvSnapshot snapshot = nsa::snapshot_environment(entries);
  for (const std::string& line : snapshot.warnings) check_line(line);
  for (const std::string& line : snapshot.refused) check_line(line);
  for (const auto& [name, value] : snapshot.values) {
    snapshot.boolean(name);
    snapshot.integer(name);
    snapshot.real(name);
  }
  return 0;
}
