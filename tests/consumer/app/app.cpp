// What a program that links the runtime looks like: which variant would run at this length?
#include <cstdlib>
#include <iostream>

#include <nsa/kernels/routing.hpp>

int main(int argc, char** argv) {
  nsa::Router::Inputs inputs;
  inputs.environment = nsa::snapshot_environment();
  const nsa::Router router(std::move(inputs));

  nsa::Problem problem;
  problem.seq_lens = {argc > 1 ? std::atoll(argv[1]) : 2048};
  nsa::require_valid(problem, "command line");
  const nsa::Choice choice = router.choose(nsa::Stage::attend_selected, problem);
  std::cout << "attend_selected at " << problem.seq_lens[0] << " tokens: " << choice.variant->name
            << " (" << nsa::to_string(choice.source) << ")\n";
}
