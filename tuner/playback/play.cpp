#include <cmath>
#include <iostream>
#include <sstream>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/problem/limits.hpp"
#include "nsa/tuner/count_text.hpp"
#include "nsa/tuner/playback.hpp"
#include "playback/player.hpp"
#include "playback/world.hpp"

namespace nsa::tuner {
namespace {

constexpr std::int64_t kMaxLengths = 1'000'000;

std::int64_t number_of(const std::string& text, std::int64_t most) {
  const auto value = parse_count(text);
  if (!value || *value < 1 || *value > most)
    throw InputError("--truth: '" + text + "' is not a whole number from 1 to " +
                     std::to_string(most));
  return *value;
}

/// FROM:TO:COUNT
void add_range(const std::vector<std::string>& parts, std::vector<std::int64_t>& lengths) {
  const std::int64_t from = number_of(parts[0], kMaxProblemTokens),
                     to = number_of(parts[1], kMaxProblemTokens);
  const std::int64_t count = number_of(parts[2], kMaxLengths);
  if (to < from || count < 2)
    throw InputError("--truth: a range is FROM:TO:COUNT, upwards and of 2 lengths or more");
  const double step = std::log(static_cast<double>(to) / static_cast<double>(from)) /
                      static_cast<double>(count - 1);
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto length = static_cast<std::int64_t>(
        std::llround(static_cast<double>(from) * std::exp(step * static_cast<double>(i))));
    if (length != last) lengths.push_back(length);
    last = length;
  }
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

}  // namespace

std::vector<std::int64_t> parse_lengths(const std::string& text) {
  std::vector<std::int64_t> lengths;
  for (const std::string& item : split(text, ',')) {
    const auto parts = split(item, ':');
    if (const auto steps = parse_range(item)) {
      for (const std::string& length : *steps)
        lengths.push_back(number_of(length, kMaxProblemTokens));
    } else {
      parts.size() == 3 ? add_range(parts, lengths)
                        : lengths.push_back(number_of(item, kMaxProblemTokens));
    }
  }
  if (lengths.empty()) throw InputError("--truth: names no length");
  return lengths;
}

Json truth_of_world(const std::string& script, const std::vector<std::int64_t>& lengths) {
  const playback::World world = playback::load_world(script);
  Json variants = Json::array();
  for (std::size_t v = 0; v < world.variants.size(); ++v) {
    Json ns = Json::array(), smooth = Json::array();
    for (const std::int64_t length : lengths) {
      ns.push_back(playback::true_ns(world, v, length));
      smooth.push_back(playback::smooth_ns(world, v, static_cast<double>(length)));
    }
    variants.push_back({{"name", world.variants[v].name}, {"ns", ns}, {"smooth_ns", smooth}});
  }
  return {{"axis", to_string(world.axis)}, {"lengths", lengths}, {"variants", variants}};
}

void play_world(const std::string& script) {
  playback::Player player(playback::load_world(script));
  for (std::string line; std::getline(std::cin, line);) {
    const auto reply = player.answer(line);
    if (!reply || !(std::cout << *reply << '\n' << std::flush)) break;
  }
}

}  // namespace nsa::tuner
