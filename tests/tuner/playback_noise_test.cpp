// What hits the launches of a world: the clock, noise, recorded series, effects of a process.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "catch.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "playback/noise.hpp"
#include "playback/state_file.hpp"
#include "text.hpp"

using namespace nsa;
using namespace nsa::test;
using namespace nsa::tuner::playback;

namespace {

World world(const std::string& more, const std::string& of_variant = "") {
  return parse_world(R"({"schema_version": 1, "executor": "sim", "stages": ["s"],
    "variants": [{"name": "a", "time": {"launch_ns": 1000, "terms": []})" +
                         of_variant + "}]" + more + "}",
                     "world", "");
}

std::vector<LaunchState> states(const World& w, std::size_t n, std::uint64_t process = 0,
                                std::int64_t first_launch = 0) {
  LaunchNoise noise(w, process, first_launch);
  std::vector<LaunchState> all;
  while (all.size() < n) all.push_back(noise.next());
  return all;
}

/// sum of a * b over their number.
double product(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum / static_cast<double>(a.size());
}

/// A file of a test, removed at its end.
struct File {
  std::string path = (std::filesystem::temp_directory_path() / make_uuid()).string();
  ~File() { std::remove(path.c_str()); }
};

}  // namespace

TEST_CASE("a world without noise has none", "[tuner]") {
  for (const LaunchState& state : states(world(""), 50)) {
    CHECK(state.clock == 1);
    CHECK(state.factor == 1);
    CHECK(state.throttle.empty());
  }
}

TEST_CASE("the boost of a process goes evenly, in each process anew", "[tuner]") {
  const World w = world(R"(, "clock": {"boost": {"launches": 10, "faster": 0.2}})");
  const auto all = states(w, 12, 3, 1000);
  CHECK(all[0].clock == Approx(1.2));
  CHECK(all[5].clock == Approx(1.1));
  CHECK(all[10].clock == 1);
}

TEST_CASE("drift, steps and throttling count the launches of the device", "[tuner]") {
  const World drift = world(R"(, "clock": {"drift_percent": -2})");
  CHECK(states(drift, 1, 0, 1000)[0].clock == Approx(0.98));
  const World step = world(R"(, "clock": {"steps": [{"at": 12, "factor": 0.85}]})");
  CHECK(states(step, 3, 0, 10)[1].clock == 1);
  CHECK(states(step, 3, 0, 10)[2].clock == Approx(0.85));
  const World slow = world(R"(, "clock": {"throttled": [{"from": 5, "to": 6}]})");
  const auto all = states(slow, 7);
  CHECK(all[4].throttle.empty());
  CHECK(all[5].throttle == "sw_power_cap");
  CHECK(all[5].clock == Approx(0.57));
  CHECK(all[6].clock == 1);
}

TEST_CASE("white noise has its sigma, and outliers their share", "[tuner]") {
  std::vector<double> logs;
  for (const LaunchState& s : states(world(R"(, "noise": {"white_sigma": 0.01})"), 4000))
    logs.push_back(std::log(s.factor));
  CHECK(std::sqrt(product(logs, logs)) == Approx(0.01).epsilon(0.05));
  int slow = 0;
  const World w = world(R"(, "noise": {"outliers": {"share": 0.1, "factor": 3}})");
  for (const LaunchState& s : states(w, 4000)) slow += s.factor == 3;
  CHECK(slow / 4000.0 == Approx(0.1).margin(0.02));
}

TEST_CASE("a wandering clock has its sigma and its correlation", "[tuner]") {
  const World w = world(R"(, "clock": {"correlated": {"sigma": 0.02, "lag1": 0.8}})");
  std::vector<double> now, later;
  const auto all = states(w, 20001);
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    now.push_back(std::log(all[i].clock));
    later.push_back(std::log(all[i + 1].clock));
  }
  CHECK(std::sqrt(product(now, now)) == Approx(0.02).epsilon(0.1));
  CHECK(product(now, later) / product(now, now) == Approx(0.8).margin(0.03));
}

TEST_CASE("the same process repeats its noise, another one has its own", "[tuner]") {
  const World w = world(R"(, "noise": {"white_sigma": 0.01})", R"(, "process_sigma": 0.003)");
  const auto one = states(w, 5, 1), again = states(w, 5, 1), other = states(w, 5, 2);
  for (std::size_t i = 0; i < one.size(); ++i) {
    CHECK(one[i].factor == again[i].factor);
    CHECK(one[i].factor != other[i].factor);
  }
  const PlayedVariant& a = w.variants[0];
  CHECK(process_effect(w, a, 1) == process_effect(w, a, 1));
  double squares = 0;
  constexpr int kProcesses = 4000;
  for (std::uint64_t p = 0; p < kProcesses; ++p)
    squares += std::pow(std::log(process_effect(w, a, p)), 2);
  CHECK(std::sqrt(squares / kProcesses) == Approx(0.003).epsilon(0.05));
  CHECK(handle_effect(w, a, 1, 1) == 1);
}

TEST_CASE("a recorded series: clock and noise together are what was recorded", "[tuner]") {
  const File file;
  write_text_file(file.path, "# settled after 8\n.9,.9,.9,1,1,1,1,1,1,1.5,1,1\n");
  const World w =
      world(R"(, "noise": {"recorded": {"file": ")" + file.path + R"(", "clock_window": 3}})");
  const auto all = states(w, 20);
  const auto time = [&](std::size_t i) { return all[i].factor / all[i].clock; };
  CHECK(time(0) == Approx(0.9));
  CHECK(all[1].clock == Approx(1 / 0.9));
  CHECK(time(9) == Approx(1.5));
  CHECK(all[9].clock == 1);        // one slow run is no clock
  CHECK(time(13) == Approx(1.5));  // past the end: the settled part, values 8 to 11
  CHECK(time(12) == Approx(1));
}

TEST_CASE("a recorded file that is none is refused with its line", "[tuner]") {
  for (const char* text : {"", "# only\n", "1,2\n1,x\n", "1,0\n", "1\n", "1,nan\n"})
    CHECK_THROWS_AS(parse_recorded(text, "f"), InputError);
  try {
    parse_recorded("1,2\n3,-4\n", "f.csv");
  } catch (const InputError& error) {
    CHECK(contains(error.what(), "f.csv:2: "));
  }
  CHECK(parse_recorded("1,2\r\n", "f") == std::vector<Series>{{1, 2}});
}

TEST_CASE("cycles: honest, none, or off by a factor of each variant's own", "[tuner]") {
  const World honest = world(R"(, "clock": {"base_mhz": 1000})");
  CHECK(cycles_of(honest, honest.variants[0], 500, 0.5) == 250);
  const World none = world(R"(, "clock": {"cycles": "none"})");
  CHECK_FALSE(cycles_of(none, none.variants[0], 500, 1));
  const World lying = world(R"(, "clock": {"base_mhz": 1000, "cycles": "lying"})");
  const auto lie = *cycles_of(lying, lying.variants[0], 1e6, 1);
  CHECK(lie != 1'000'000);
  CHECK(lie == Approx(1e6).epsilon(0.1));
}

TEST_CASE("processes are numbered, and hand on launches and time", "[tuner]") {
  const File file;
  CHECK(begin_process(file.path).processes == 0);
  CHECK(begin_process(file.path).processes == 1);  // the first one died
  end_process(file.path, 40, 5000);
  const DeviceState state = begin_process(file.path);
  CHECK(state.processes == 2);
  CHECK(state.launches == 40);
  CHECK(state.clock_ns == 5000);
  write_text_file(file.path, "{\"processes\": -1}");
  CHECK_THROWS_AS(begin_process(file.path), InputError);
}
