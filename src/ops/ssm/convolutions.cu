// Short convolutions. A thread has one channel and up to kConvolvedRows rows of a task.

#include "base/assert.h"
#include "ops/core/gpu/early_launch.cuh"
#include "ops/core/gpu/in_launches.cuh"
#include "ops/core/gpu/numbers.h"
#include "ops/ssm/ssm.gpu.h"

namespace longhaul::cuda {
namespace {

constexpr int kConvolutionThreads = 128;
constexpr int kConvolvedRows = 8;

__device__ __forceinline__ float convolution_silu(float x) { return x / (1.0f + expf(-x)); }

__device__ __forceinline__ void store_number(float* to, float x) { *to = x; }
__device__ __forceinline__ void store_number(uint16_t* to, float x) {
  *to = static_cast<uint16_t>(bf16_bits(x));
}

/// Channels of x, B and C of a Mamba-2 layer, with a bias and silu. The output is f32 or bf16.
template <class Out>
struct SsmForm {
  const float* x;
  int64_t stride;
  const float* bias;  // null: none
  Out* y;
  int width;

  __device__ float input(int64_t row, int channel) const { return x[row * stride + channel]; }
  __device__ void store(int64_t row, int channel, float sum) const {
    if (bias != nullptr) sum += bias[channel];
    store_number(y + row * width + channel, convolution_silu(sum));
  }
};

/// Rows [a, b, x]: the convolution of a * x, times b.
struct GatedForm {
  const float* in;
  float* y;
  int width;

  __device__ float input(int64_t row, int channel) const {
    const float* const own = in + row * 3 * width + channel;
    return own[0] * own[2 * width];
  }
  __device__ void store(int64_t row, int channel, float sum) const {
    y[row * width + channel] = in[row * 3 * width + width + channel] * sum;
  }
};

/// The input of row `row` of a task. Rows below 0 are in the history.
template <class Form>
__device__ __forceinline__ float input_of(const Form& form, const RecurrentRows& task, int taps,
                                          int64_t row, int channel) {
  if (row < 0) return task.before[(row + taps - 1) * form.width + channel];
  return form.input(task.first + row, channel);
}

/// Writes the history of a channel after the rows. `before` may be `after`: an input is read before
/// it is overwritten, because the sources follow it.
template <class Form>
__device__ void keep_inputs(const Form& form, const RecurrentRows& task, int taps, int channel) {
  for (int j = 0; j + 1 < taps; ++j) {
    const float kept = input_of(form, task, taps, task.rows - taps + 1 + j, channel);
    task.after[int64_t{j} * form.width + channel] = kept;
  }
}

/// blockIdx.x: channels, blockIdx.y: a task, blockIdx.z: rows. A thread that has all rows of its
/// task also keeps the history. kTaps is 0 for other numbers than 2, 3 and 4.
template <int kTaps, class Form>
__global__ void __launch_bounds__(kConvolutionThreads)
    convolve_rows_kernel(Form form, const float* weight, int taps,
                         const __grid_constant__ Records<RecurrentRows> tasks) {
  await_turn();
  const RecurrentRows& task = tasks.each[blockIdx.y];
  const int channel = blockIdx.x * kConvolutionThreads + threadIdx.x;
  const int64_t begin = blockIdx.z * int64_t{kConvolvedRows};
  if (channel >= form.width || begin >= task.rows) return;
  const int64_t end = min(begin + kConvolvedRows, task.rows);
  if constexpr (kTaps > 0) {
    float weights[kTaps], seen[kTaps];
#pragma unroll
    for (int j = 0; j < kTaps; ++j) {
      weights[j] = weight[int64_t{j} * form.width + channel];
      seen[j] = j == 0 ? 0.0f : input_of(form, task, kTaps, begin + j - kTaps, channel);
    }
    for (int64_t row = begin; row < end; ++row) {
#pragma unroll
      for (int j = 0; j + 1 < kTaps; ++j) seen[j] = seen[j + 1];
      seen[kTaps - 1] = form.input(task.first + row, channel);
      float sum = 0;
#pragma unroll
      for (int j = 0; j < kTaps; ++j) sum += weights[j] * seen[j];
      form.store(task.first + row, channel, sum);
    }
  } else {
    for (int64_t row = begin; row < end; ++row) {
      float sum = 0;
      for (int j = 0; j < taps; ++j) {
        sum += weight[int64_t{j} * form.width + channel] *
               input_of(form, task, taps, row + j - taps + 1, channel);
      }
      form.store(task.first + row, channel, sum);
    }
  }
  if (task.rows <= kConvolvedRows) keep_inputs(form, task, taps, channel);
}

template <class Form>
__global__ void __launch_bounds__(kConvolutionThreads)
    keep_inputs_kernel(Form form, int taps, const __grid_constant__ Records<RecurrentRows> tasks) {
  await_turn();
  const RecurrentRows& task = tasks.each[blockIdx.y];
  const int channel = blockIdx.x * kConvolutionThreads + threadIdx.x;
  if (channel >= form.width || task.rows <= kConvolvedRows) return;
  keep_inputs(form, task, taps, channel);
}

template <class Form>
auto convolution_for(int taps) {
  switch (taps) {
    case 2:
      return convolve_rows_kernel<2, Form>;
    case 3:
      return convolve_rows_kernel<3, Form>;
    case 4:
      return convolve_rows_kernel<4, Form>;
    default:
      return convolve_rows_kernel<0, Form>;
  }
}

template <class Form>
void convolve(Stream stream, const char* name, const Form& form, const float* weight, int taps,
              std::span<const RecurrentRows> tasks) {
  int64_t most = 0;
  for (const RecurrentRows& task : tasks) most = std::max(most, task.rows);
  const int64_t parts = (most + kConvolvedRows - 1) / kConvolvedRows;
  LH_ASSERT(parts <= 65535);
  const auto across =
      static_cast<unsigned>((form.width + kConvolutionThreads - 1) / kConvolutionThreads);
  in_launches(tasks, name, [&](const Records<RecurrentRows>& some, unsigned count) {
    launch_early(stream, name, convolution_for<Form>(taps),
                 dim3(across, count, static_cast<unsigned>(parts)), kConvolutionThreads, 0, form,
                 weight, taps, some);
    if (most <= kConvolvedRows) return;
    launch_early(stream, "keep_inputs", keep_inputs_kernel<Form>, dim3(across, count),
                 kConvolutionThreads, 0, form, taps, some);
  });
}

template <class Out>
void convolve_ssm(Stream stream, const SsmSizes& sizes, const SsmAddresses& at,
                  std::span<const RecurrentRows> tasks, Out* convolved) {
  const SsmForm<Out> form{at.projected + sizes.inner, at.stride, at.convolution_bias, convolved,
                          sizes.channels};
  convolve(stream, "ssm_convolve", form, at.convolution, sizes.taps, tasks);
}

}  // namespace

void ssm_convolve(Stream stream, const SsmSizes& sizes, const SsmAddresses& at,
                  std::span<const RecurrentRows> tasks, float* convolved) {
  convolve_ssm(stream, sizes, at, tasks, convolved);
}
void ssm_convolve(Stream stream, const SsmSizes& sizes, const SsmAddresses& at,
                  std::span<const RecurrentRows> tasks, uint16_t* convolved) {
  convolve_ssm(stream, sizes, at, tasks, convolved);
}

void gated_convolution(Stream stream, const GatedConvolutionShape& shape, const float* in,
                       const float* weight, std::span<const RecurrentRows> tasks, float* out) {
  convolve(stream, "gated_convolution", GatedForm{in, out, shape.width}, weight, shape.kernel,
           tasks);
}

}  // namespace longhaul::cuda
