#include "playback/reference.hpp"

#include <cstring>

#include "nsa/kernels/catalog.hpp"
#include "nsa/tuner/safetensors.hpp"

namespace nsa::tuner::playback {
namespace {

const Variant* stand_in(const VariantId& id, const Problem& problem) {
  for (const Variant& row : catalog()) {
    const bool fits = row.backend == Backend::cpu && row.role == Role::candidate && row.launch &&
                      row.stages.size() == id.stages.size();
    if (!fits || !nsa::supports(row, problem, Device{}).supported) continue;
    bool same = true;
    for (std::size_t i = 0; i < id.stages.size(); ++i)
      same = same && to_string(row.stages[i]) == id.stages[i];
    if (same) return &row;
  }
  return nullptr;
}

/// Flips the highest bit of each element: the sign of a number, an index that is far off.
void spoil(const std::string& path) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 34;
  std::vector<HostTensor> tensors = read_safetensors(path, kMaxBytes);
  std::vector<NamedView> views;
  for (HostTensor& tensor : tensors) {
    const auto size = static_cast<std::size_t>(size_of(tensor.shape.dtype));
    for (std::size_t end = size; end <= tensor.bytes.size(); end += size)
      tensor.bytes[end - 1] ^= std::byte{0x80};
    views.push_back({tensor.name, tensor.view()});
  }
  write_safetensors(path, views);
}

}  // namespace

Reference::Reference() : session_("", {}) { session_.answer(worker::HelloRequest{}); }

worker::Reply Reference::prepare(const worker::PrepareRequest& request, std::int64_t handle) {
  const Variant* row = stand_in(request.variant, request.problem);
  if (!row)
    return worker::FailedReply{request.id, Outcome::unsupported,
                               "no row of the CPU can stand in: this world cannot be verified"};
  worker::PrepareRequest ours = request;
  ours.variant = ids_of(*row).front();
  worker::Reply reply = session_.answer(ours);
  if (const auto* prepared = std::get_if<worker::PreparedReply>(&reply))
    handles_[handle] = prepared->handle;
  return reply;
}

worker::Reply Reference::verify(const worker::VerifyRequest& request, bool wrong) {
  worker::VerifyRequest ours = request;
  const auto found = handles_.find(request.handle);
  ours.handle = found == handles_.end() ? -1 : found->second;
  worker::Reply reply = session_.answer(ours);
  if (wrong && std::holds_alternative<worker::VerifiedReply>(reply)) {
    spoil(request.outputs);
    std::get<worker::VerifiedReply>(reply).worst_row_error.reset();  // of what was right
  }
  return reply;
}

void Reference::release(std::int64_t handle) {
  const auto found = handles_.find(handle);
  if (found == handles_.end()) return;
  session_.answer(worker::ReleaseRequest{0, found->second});
  handles_.erase(found);
}

}  // namespace nsa::tuner::playback
