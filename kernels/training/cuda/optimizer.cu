// Clipping and AdamW over all parameters at once. Both are bound by memory: 16 bytes of fp32 in an
// access, everything read and written once.
#include "cuda/launch/launch.cuh"
#include "cuda/ptx/vectors.cuh"
#include "training/cuda/kernels.hpp"
#include "training/masters.hpp"

namespace nsa::training::cuda {
namespace {

using namespace nsa::cuda;

constexpr int kThreads = 256;
constexpr int kWidth = 4;  // parameters of an access

__device__ double block_sum(double value, double* scratch) {
  scratch[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) scratch[threadIdx.x] += scratch[threadIdx.x + half];
    __syncthreads();
  }
  return scratch[0];
}

/// Block b sums every kNormSums-th piece of 4 x kThreads gradients: the order is fixed.
__global__ void __launch_bounds__(kThreads)
    squares_kernel(const float* gradients, std::int64_t count, double* sums) {
  __shared__ double scratch[kThreads];
  double sum = 0;
  const std::int64_t step = std::int64_t{kNormSums} * kThreads * kWidth;
  for (std::int64_t i = (blockIdx.x * std::int64_t{kThreads} + threadIdx.x) * kWidth; i < count;
       i += step) {
    // In fp64, as on a CPU: the square of a finite fp32 number may be infinite in fp32.
    const auto add = [&sum](double gradient) { sum += gradient * gradient; };
    if (i + kWidth <= count) {
      float g[kWidth];
      load_vector(gradients + i, g);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) add(g[j]);
    } else {
      for (std::int64_t j = i; j < count; ++j) add(gradients[j]);
    }
  }
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kNormSums)
    clip_kernel(const double* sums, double max_norm, StepScalars* scalars) {
  __shared__ double scratch[kNormSums];
  const double sum = block_sum(sums[threadIdx.x], scratch);
  if (threadIdx.x != 0) return;
  const double norm = sqrt(sum);
  scalars->grad_norm = norm;
  const double factor = max_norm / (norm + 1e-6);
  scalars->clip = max_norm > 0 && factor < 1.0 ? factor : 1.0;
  const bool good = isfinite(scalars->loss) && isfinite(norm);
  if (!good && scalars->bad_step == 0) scalars->bad_step = scalars->inputs.step + 1;
}

struct Factors {
  float beta1, beta2, epsilon;
  double weight_decay;
};

struct Update {
  float clip, beta1, beta2, decay, rate, root_correction2, epsilon;
  __device__ void operator()(float gradient, float& m, float& v, float& w) const {
    // Which products are fused is said, not left to the compiler, which decides anew for each form
    // of the masters: all of them move alike, bit for bit.
    const float g = __fmul_rn(clip, gradient);
    m = __fmaf_rn(beta1, m, __fmul_rn(1.0f - beta1, g));
    v = __fmaf_rn(beta2, v, __fmul_rn(__fmul_rn(1.0f - beta2, g), g));
    const float divisor = __fadd_rn(__fdiv_rn(__fsqrt_rn(v), root_correction2), epsilon);
    w = __fmaf_rn(decay, w, -__fdiv_rn(__fmul_rn(rate, m), divisor));
  }
};

__device__ Update update_of(const Factors& f, const StepScalars& s) {
  return {.clip = static_cast<float>(s.clip),
          .beta1 = f.beta1,
          .beta2 = f.beta2,
          .decay = static_cast<float>(1.0 - s.inputs.rate * f.weight_decay),
          .rate = static_cast<float>(s.inputs.rate / s.inputs.correction1),
          .root_correction2 = static_cast<float>(sqrt(s.inputs.correction2)),
          .epsilon = f.epsilon};
}

/// What moves, as fp32, and how it becomes the weights: fp32 masters, or the weights themselves.
template <class T>
struct WideMasters {
  T* weights;
  float* masters;
  template <int kCount>
  __device__ void load(std::int64_t i, float (&w)[kCount]) const {
    if (masters) return load_vector(masters + i, w);
    load_vector(weights + i, w);
  }
  template <int kCount>
  __device__ void store(std::int64_t i, const float (&w)[kCount]) const {
    if (masters) store_vector(masters + i, w);
    store_vector(weights + i, w);
  }
};

/// Masters whose upper halves are the weights.
struct SplitMasters {
  std::uint16_t* weights;
  std::int16_t* low;
  template <int kCount>
  __device__ void load(std::int64_t i, float (&w)[kCount]) const {
    const auto upper = *reinterpret_cast<const Vector<std::uint16_t, kCount>*>(weights + i);
    const auto lower = *reinterpret_cast<const Vector<std::int16_t, kCount>*>(low + i);
#pragma unroll
    for (int j = 0; j < kCount; ++j) w[j] = join_master({upper.values[j], lower.values[j]});
  }
  template <int kCount>
  __device__ void store(std::int64_t i, const float (&w)[kCount]) const {
    Vector<std::uint16_t, kCount> upper;
    Vector<std::int16_t, kCount> lower;
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      const MasterHalves halves = split_master(w[j]);
      upper.values[j] = halves.weight;
      lower.values[j] = halves.low;
    }
    *reinterpret_cast<Vector<std::uint16_t, kCount>*>(weights + i) = upper;
    *reinterpret_cast<Vector<std::int16_t, kCount>*>(low + i) = lower;
  }
};

/// All loads of kCount parameters stand before the first store.
template <int kCount, class Moving>
__device__ void move(const Moving& moving, const float* gradients, float* moment1, float* moment2,
                     std::int64_t i, const Update& update) {
  float g[kCount], m[kCount], v[kCount], w[kCount];
  load_vector(gradients + i, g);
  load_vector(moment1 + i, m);
  load_vector(moment2 + i, v);
  moving.load(i, w);
#pragma unroll
  for (int j = 0; j < kCount; ++j) update(g[j], m[j], v[j], w[j]);
  store_vector(moment1 + i, m);
  store_vector(moment2 + i, v);
  moving.store(i, w);
}

template <class Moving>
__global__ void __launch_bounds__(kThreads)
    adamw_kernel(Moving moving, const float* gradients, float* moment1, float* moment2,
                 std::int64_t count, Factors factors, const StepScalars* scalars) {
  if (scalars->bad_step != 0) return;
  const std::int64_t i = (blockIdx.x * std::int64_t{kThreads} + threadIdx.x) * kWidth;
  if (i >= count) return;
  const Update update = update_of(factors, *scalars);
  if (i + kWidth <= count) return move<kWidth>(moving, gradients, moment1, moment2, i, update);
  for (std::int64_t j = i; j < count; ++j) move<1>(moving, gradients, moment1, moment2, j, update);
}

__global__ void begin_kernel(const StepInputs* inputs, StepScalars* scalars) {
  scalars->inputs = *inputs;
  scalars->loss = 0;
}

__global__ void end_kernel(const StepScalars* scalars, StepResult* history, std::int64_t count) {
  StepResult& result = history[scalars->inputs.step % count];
  result.loss = scalars->loss;
  result.grad_norm = scalars->grad_norm;
}

}  // namespace

void clip(const TensorView& gradients, double max_norm, double* sums, StepScalars* scalars,
          CUstream_st* stream) {
  expects(gradients.dtype == Dtype::fp32, "fp32 gradients");
  launch(squares_kernel, kNormSums, kThreads, 0, stream, gradients.as<const float>(),
         gradients.shape[0], sums);
  launch(clip_kernel, 1, kNormSums, 0, stream, static_cast<const double*>(sums), max_norm, scalars);
}

void adamw(const OptimizerTensors& t, const AdamW& options, const StepScalars* scalars,
           CUstream_st* stream) {
  const std::int64_t count = t.weights.shape[0];
  const Factors factors{static_cast<float>(options.beta1), static_cast<float>(options.beta2),
                        static_cast<float>(options.epsilon), options.weight_decay};
  const auto launch_with = [&](auto moving) {
    launch(adamw_kernel<decltype(moving)>, (count + kThreads * kWidth - 1) / (kThreads * kWidth),
           kThreads, 0, stream, moving, t.gradients.as<const float>(), t.moment1.as<float>(),
           t.moment2.as<float>(), count, factors, scalars);
  };
  if (t.low_halves) {
    expects(t.weights.dtype == Dtype::bf16, "bf16 weights beside lower halves of masters");
    return launch_with(SplitMasters{t.weights.as<std::uint16_t>(), t.low_halves});
  }
  with_storage_type(t.weights.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch_with(WideMasters<T>{t.weights.as<T>(), t.masters.as<float>()});
  });
}

void begin_step(const StepInputs* inputs, StepScalars* scalars, CUstream_st* stream) {
  launch(begin_kernel, 1, 1, 0, stream, inputs, scalars);
}

void end_step(const StepScalars* scalars, StepResult* history, std::int64_t count,
              CUstream_st* stream) {
  launch(end_kernel, 1, 1, 0, stream, scalars, history, count);
}

}  // namespace nsa::training::cuda
