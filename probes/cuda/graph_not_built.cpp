#include "nsa/probes/graph.hpp"

namespace nsa::probes {

std::unique_ptr<GraphReplay> capture_graph(const Device& device, CUstream_st*, void (*)(void*),
                                           void*) {
  throw NotCapturable("graph launches need a CUDA device, not " + device.id);
}

}  // namespace nsa::probes
