#include "nsa/schemas/error.hpp"
#include "vendor/aligned_tensors.hpp"
#include "vendor/flashinfer/flashinfer.hpp"

namespace nsa::vendor {
namespace {

FlashInferKernel kernel_of(const Problem& p) {
  const bool half = p.dtype == Dtype::fp16;
  switch (p.head_dim_k) {
    case 64:
      return half ? flashinfer_fp16_64 : flashinfer_bf16_64;
    case 128:
      return half ? flashinfer_fp16_128 : flashinfer_bf16_128;
    case 192:
      return half ? flashinfer_fp16_192 : flashinfer_bf16_192;
    default:
      throw ContractError("expected: head dims that FlashInfer was compiled for");
  }
}

TileLists take_lists(const cuda::AttendParams& p, Workspace& workspace) {
  TileLists lists;
  lists.tiles = tiles_of(p);
  lists.request = workspace.take<std::int32_t>(lists.tiles).data();
  lists.tile = workspace.take<std::int32_t>(lists.tiles).data();
  lists.key_tile = workspace.take<std::int32_t>(lists.tiles).data();
  lists.valid = workspace.take<bool>(lists.tiles).data();
  lists.first_query = workspace.take<std::int32_t>(p.batch).data();
  lists.first_key = workspace.take<std::int32_t>(p.batch).data();
  lists.chunk = workspace.take<std::int32_t>(1).data();
  return lists;
}

void run(const LaunchArgs& args, Band band, Form form, FlashInferCall& call) {
  const FlashInferKernel kernel = kernel_of(args.problem);
  if (form == Form::varlen) {
    call.lists = take_lists(call.params, args.workspace);
    make_tile_lists(call.params, band, call.lists, args.stream);
    return kernel(call, band, form, args.stream);
  }
  for (const Sequence& sequence : args.sequences) {
    if (sequence.q_len == 0) continue;
    call.sequence = sequence;
    kernel(call, band, form, args.stream);
  }
}

void launch_branch(const LaunchArgs& args, Band band, Form form) {
  if (args.problem.total_tokens() == 0) return;
  const WorkspaceScope scope(args.workspace);
  const BandTensors tensors = aligned_tensors(args, branch_of(band), true);
  FlashInferCall call;
  call.params = cuda::make_band_params(args, tensors);
  const cuda::AttendParams wanted = call.params;
  if (tensors.lse) {
    call.params.lse =
        args.workspace.take<float>(args.problem.total_tokens() * args.problem.q_heads).data();
  }
  run(args, band, form, call);
  if (tensors.lse) convert_lse(call.params.lse, wanted, args.stream);
  give_back(tensors, args);
}

template <Band kBand, Form kForm>
void launch(const LaunchArgs& args) {
  launch_branch(args, kBand, kForm);
}

}  // namespace

extern constinit const LaunchFunction kFa2DenseWindow = launch<Band::window, Form::dense>;
extern constinit const LaunchFunction kFa2DenseCompressed = launch<Band::compressed, Form::dense>;
extern constinit const LaunchFunction kFa2VarlenWindow = launch<Band::window, Form::varlen>;
extern constinit const LaunchFunction kFa2VarlenCompressed = launch<Band::compressed, Form::varlen>;

}  // namespace nsa::vendor
