#include "nsa/page/history.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/median.hpp"
#include "quantise.hpp"

namespace nsa::page {
namespace {

using nightly::Night;
using nightly::Series;

/// The nights of a device, by Night::index.
struct Track {
  std::string device;
  std::map<std::int64_t, Night> nights;  // without values

  std::size_t position(std::int64_t index) const {
    return static_cast<std::size_t>(std::distance(nights.begin(), nights.lower_bound(index)));
  }
};

void add_nights(Track& track, const Series& series) {
  for (const Night& night : series.nights) {
    Night& there = track.nights[night.index];
    there.time = night.time;
    if (there.environment.empty()) there.environment = night.environment;
    if (there.commit.empty()) there.commit = night.commit;
  }
}

Json track_json(const Track& track) {
  Json json{{"device", track.device}};
  for (const char* key : {"index", "time", "environment", "commit"}) json[key] = Json::array();
  for (const auto& [index, night] : track.nights) {
    json["index"].push_back(index);
    json["time"].push_back(night.time);
    json["environment"].push_back(night.environment);
    json["commit"].push_back(night.commit);
  }
  return json;
}

std::vector<std::optional<NightValues>> values_of(const Series& series, const Track& track) {
  std::vector<std::optional<NightValues>> values(track.nights.size());
  for (const Night& night : series.nights) {
    if (night.values.empty()) continue;
    const auto [low, high] = std::minmax_element(night.values.begin(), night.values.end());
    values[track.position(night.index)] = {*low, median(night.values), *high};
  }
  return values;
}

/// Positions at which a level begins: the first night, each change, each epoch, and the end.
std::vector<std::size_t> borders(const Series& series, const nightly::Verdict& verdict,
                                 const Track& track) {
  std::set<std::size_t> at{0, track.nights.size()};
  for (const nightly::Change& change : verdict.changes) at.insert(track.position(change.index));
  for (std::size_t i = 1; i < series.nights.size(); ++i) {
    if (series.nights[i].environment != series.nights[i - 1].environment)
      at.insert(track.position(series.nights[i].index));
  }
  return {at.begin(), at.end()};
}

/// [from, to, level]: the median of the nights' medians between two borders.
Json segments(const std::vector<std::optional<NightValues>>& values,
              const std::vector<std::size_t>& at) {
  Json list = Json::array();
  for (std::size_t i = 1; i < at.size(); ++i) {
    std::vector<double> medians;
    for (std::size_t night = at[i - 1]; night < at[i]; ++night) {
      if (values[night]) medians.push_back(values[night]->median);
    }
    if (!medians.empty()) list.push_back({at[i - 1], at[i], median(medians)});
  }
  return list;
}

Json series_json(const Series& series, const nightly::Verdict& verdict, const Track& track,
                 std::size_t track_number) {
  const auto values = values_of(series, track);
  Json json = quantised(values);
  json["track"] = track_number;
  json["segments"] = segments(values, borders(series, verdict, track));
  json["failures"] = Json::array();
  for (const Night& night : series.nights) {
    if (!night.failure.empty())
      json["failures"].push_back({track.position(night.index), night.failure});
  }
  return json;
}

}  // namespace

Json history_json(const std::vector<Series>& series,
                  const std::vector<nightly::Verdict>& verdicts) {
  expects(series.size() == verdicts.size(), "a verdict for each series");
  std::vector<Track> tracks;
  std::map<std::string, std::size_t> by_device;
  for (const Series& one : series) {
    const auto [at, is_new] = by_device.try_emplace(one.device, tracks.size());
    if (is_new) tracks.push_back({one.device, {}});
    add_nights(tracks[at->second], one);
  }
  Json track_list = Json::array(), series_list = Json::array();
  for (const Track& track : tracks) track_list.push_back(track_json(track));
  for (std::size_t i = 0; i < series.size(); ++i) {
    const std::size_t number = by_device.at(series[i].device);
    series_list.push_back(series_json(series[i], verdicts[i], tracks[number], number));
  }
  return {{"tracks", std::move(track_list)}, {"series", std::move(series_list)}};
}

}  // namespace nsa::page
