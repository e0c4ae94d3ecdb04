// The env file beside the production config in examples/nsa_vibe: what the sweep in docs/results
// decides for that config, with a reason above each switch.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "nsa/kernels/catalog.hpp"
#include "nsa/tuner/emit.hpp"
#include "nsa/tuner/user_config.hpp"
#include "recorded_rows.hpp"

using namespace nsa;
using namespace nsa::tuner;

namespace {

const std::string kFolder = std::string(NSA_SOURCE_DIR) + "/examples/nsa_vibe/";
const std::string kName = "m7c_125m_2xa100_production";

std::string text_of(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

Emission recorded_emission(const Problem& problem) {
  DecideInput input;
  input.device.backend = Backend::cuda;
  input.device.name = "NVIDIA H200";
  input.device.compute_capability = 90;
  input.variants = catalog_traits(Backend::cuda);
  input.rows = test::recorded_rows();
  auto emission = emit_from_rows(find_project("nsa-vibe"), input, class_of(problem), problem);
  REQUIRE(emission);
  emission->source = "docs/results/h200.csv.gz";
  return std::move(*emission);
}

/// The lines of `text` from the last empty line to the one that sets `entry`.
std::string block_of(const std::string& text, const std::string& entry) {
  const std::size_t at = ("\n" + text).find("\n" + entry + "\n");
  const std::size_t from = text.rfind("\n\n", at);
  return text.substr(from, at - from);
}

}  // namespace

// NSATUNE_WRITE_EXAMPLES=1 writes the file anew, after another sweep.
TEST_CASE("the production config's env file is what the recorded sweep decides", "[emit]") {
  const UserConfig config = parse_user_config(text_of(kFolder + kName + ".yaml"), kName);
  const std::string decided = env_text(recorded_emission(config.problem));
  const std::string path = kFolder + kName + ".env";
  if (std::getenv("NSATUNE_WRITE_EXAMPLES")) std::ofstream(path) << decided;
  const std::string shipped = text_of(path);
  const auto entries = parse_env_file(shipped, path);
  CHECK(entries == parse_env_file(decided, "decided"));
  CHECK_FALSE(entries.empty());
  for (const std::string& entry : entries) {
    INFO(entry);
    // A branch that is left as it is has to be kept off where the other one is switched on.
    const std::string off = entry.substr(0, entry.find('=')) + ": keeps a branch off";
    const std::string block = block_of(shipped, entry);
    CHECK((block.find("; measured at ") != std::string::npos ||
           block.find(off) != std::string::npos));
  }
  // The switch that costs most where it is wrong, for the length that the config trains at.
  CHECK(std::ranges::find(entries, "NSA_FORCE_SEL_MASK=1") != entries.end());
  CHECK(shipped.find("for lengths up to seq_len 2048;") != std::string::npos);
}
