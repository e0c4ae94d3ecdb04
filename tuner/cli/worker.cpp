#include "nsa/tuner/serve.hpp"
#include "program.hpp"

namespace nsa::cli {

void add_worker(Program& program) {
  CLI::App* sub = program.add(
      "worker", "Speaks the worker protocol on stdin and stdout; `sweep` starts it",
      "  echo '{\"type\":\"hello\",\"protocol\":1,\"device\":\"cpu\"}' | nsatune worker --device "
      "cpu",
      [&program] {
        return static_cast<ExitCode>(tuner::serve_stdio(program.settings.device.value_or("")));
      });
  sub->group("");  // hidden from --help: nobody types it
}

}  // namespace nsa::cli
