// worker-sim: a worker without kernels, for judging sweeps and decisions against a known truth.
#include <memory>

#include "nsa/tuner/playback.hpp"
#include "program.hpp"

namespace nsa::cli {
namespace {

struct WorkerSimOptions {
  std::string script;
  std::optional<std::string> truth;
};

ExitCode run(const WorkerSimOptions& o) {
  if (o.truth) {
    print_json(tuner::truth_of_world(o.script, tuner::parse_lengths(*o.truth)));
  } else {
    tuner::play_world(o.script);
  }
  return ExitCode::good;
}

}  // namespace

void add_worker_sim(Program& program) {
  auto o = std::make_shared<WorkerSimOptions>();
  CLI::App* sub = program.add(
      "worker-sim",
      "A worker that plays a world with known times, in virtual time: for judging the tuner",
      "  nsatune sweep spec.json --worker 'nsatune worker-sim world.json'\n"
      "  nsatune tune --executor NAME --unverified -o decided.json\n"
      "  nsatune worker-sim world.json --truth 128:65536:200,1000   # true times as JSON",
      [o] { return run(*o); });
  sub->add_option("script", o->script, "World, as schemas/json/playback.schema.json describes it")
      ->required();
  sub->add_option("--truth", o->truth,
                  "Print true times at these lengths instead: 128,8k, 128:64k:x2 or FROM:TO:COUNT, "
                  "evenly on a logarithmic axis");
}

}  // namespace nsa::cli
