// Our worker as a program of its own, for tests. Usage: test_worker_main [device]
#include "nsa/tuner/serve.hpp"

int main(int argc, char** argv) { return nsa::tuner::serve_stdio(argc > 1 ? argv[1] : ""); }
