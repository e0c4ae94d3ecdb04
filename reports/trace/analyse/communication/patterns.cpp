#include "patterns.hpp"

#include <array>
#include <cctype>

namespace nsa::trace {
namespace {

struct Pattern {
  std::string_view word;  // in lower case
  std::string_view transport;
  std::string_view collective{};  // empty: as the rest of the name says
};

/// The first row whose word is in the name decides.
constexpr std::array kKernels{
    Pattern{"mscclpp", "mscclpp"},
    Pattern{"msccl", "msccl"},
    Pattern{"nccl", "nccl"},
    Pattern{"rccl", "nccl"},
    Pattern{"hccl", "hccl"},
    Pattern{"multimem", "symmetric_memory"},          // PyTorch, NVLS
    Pattern{"symmetric_memory", "symmetric_memory"},  // PyTorch's namespace of it
    Pattern{"nvshmem", "nvshmem"},
    Pattern{"rocshmem", "nvshmem"},
    Pattern{"deep_ep::", "deep_ep", "all_to_all"},  // DeepEP
    Pattern{"userbuffers", "userbuffers"},          // Transformer Engine
    Pattern{"quickreduce", "custom", "all_reduce"},
    Pattern{"cross_device_reduce", "custom", "all_reduce"},  // vLLM, SGLang, AITER
    Pattern{"allreduce", "custom", "all_reduce"},            // TensorRT-LLM, FlashInfer, XLA
    Pattern{"all_reduce", "custom", "all_reduce"},
    Pattern{"allgather", "custom", "all_gather"},
    Pattern{"all_gather", "custom", "all_gather"},
    Pattern{"reducescatter", "custom", "reduce_scatter"},
    Pattern{"reduce_scatter", "custom", "reduce_scatter"},
    Pattern{"alltoall", "custom", "all_to_all"},
    Pattern{"all_to_all", "custom", "all_to_all"},
};

constexpr std::array<std::string_view, 3> kPeerCopies{"PtoP", "Peer-to-Peer", "PeerToPeer"};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// Names of fused kernels list the operators around them: "triton_poi_fused_all_reduce_add_0".
bool only_names_it(const std::string& name) {
  return name.starts_with("triton_") && name.find("_fused_") != name.npos;
}

}  // namespace

std::string collective_of(std::string_view name) {
  std::string letters;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)))
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  struct Row {
    std::string_view word, collective;
  };
  static constexpr std::array kRows{Row{"allreduce", "all_reduce"},
                                    Row{"allgather", "all_gather"},
                                    Row{"reducescatter", "reduce_scatter"},
                                    Row{"alltoall", "all_to_all"},
                                    Row{"sendrecv", "send_recv"},
                                    Row{"broadcast", "broadcast"},
                                    Row{"barrier", "barrier"},
                                    Row{"gather", "gather"},
                                    Row{"scatter", "scatter"},
                                    Row{"reduce", "reduce"},
                                    Row{"send", "send"},
                                    Row{"recv", "recv"}};
  for (const Row& row : kRows)
    if (letters.find(row.word) != letters.npos) return std::string(row.collective);
  return "other";
}

std::optional<CommName> comm_of_kernel(std::string_view name) {
  const std::string text = lower(name);
  if (only_names_it(text)) return {};
  for (const Pattern& pattern : kKernels) {
    if (text.find(pattern.word) == text.npos) continue;
    if (pattern.transport == "custom" && text.find("gemm") != text.npos) return {};
    return CommName{std::string(pattern.transport), pattern.collective.empty()
                                                        ? collective_of(name)
                                                        : std::string(pattern.collective)};
  }
  return {};
}

std::optional<CommName> comm_of_copy(std::string_view name) {
  for (const std::string_view word : kPeerCopies)
    if (name.find(word) != name.npos) return CommName{"copy", "send_recv"};
  return {};
}

bool copies_of_comm(std::string_view range) { return range.starts_with("gloo:"); }

bool waits_for_all(std::string_view collective) {
  for (const std::string_view word :
       {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier"})
    if (collective == word) return true;
  return false;
}

}  // namespace nsa::trace
