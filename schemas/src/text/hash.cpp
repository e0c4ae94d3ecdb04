// Identity of documents, rows and moments.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <random>

#include "nsa/schemas/json.hpp"

namespace nsa {

std::string hash_hex(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a, 64 bits: offset basis and prime
  for (const char byte : bytes) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 0x100000001b3u;
  }
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash));
  return text.data();
}

std::string make_uuid() {
  thread_local std::random_device entropy;  // making one takes longer than asking it
  std::array<std::uint32_t, 4> words{};
  for (auto& word : words) word = entropy();
  words[1] = (words[1] & 0xffff0fffu) | 0x00004000u;  // RFC 4122: version 4,
  words[2] = (words[2] & 0x3fffffffu) | 0x80000000u;  // variant 1
  std::array<char, 37> text{};
  std::snprintf(text.data(), text.size(), "%08x-%04x-%04x-%04x-%04x%08x", words[0], words[1] >> 16,
                words[1] & 0xffffu, words[2] >> 16, words[2] & 0xffffu, words[3]);
  return text.data();
}

std::string now_iso8601() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const auto seconds = static_cast<std::time_t>(ms / 1000);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  std::array<char, 48> text{};
  const std::size_t end = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text.data() + end, text.size() - end, ".%03dZ", static_cast<int>(ms % 1000));
  return text.data();
}

}  // namespace nsa
