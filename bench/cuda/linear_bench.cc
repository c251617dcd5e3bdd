// Speed of products on a GPU: cuBLASLt, expansion of stored weights, and decode rows. Each figure
// is the median of runs over weights that exceed the caches.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "ops/core/elementwise.gpu.h"
#include "ops/core/gpu/device_error.gpu.h"
#include "ops/core/rms_norm.gpu.h"
#include "ops/matmul/cublas.gpu.h"
#include "ops/matmul/expand.gpu.h"
#include "ops/matmul/matvec.gpu.h"

namespace longhaul::cuda {
namespace {

constexpr size_t kBeyondCaches = size_t{256} << 20;

/// Median milliseconds per call; `calls` consecutive calls are timed together.
double milliseconds(const std::function<void(int call)>& work, int calls) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  std::vector<float> times;
  for (int run = 0; run < 9; ++run) {
    check(cudaEventRecord(begin, nullptr), "event");
    for (int call = 0; call < calls; ++call) work(call);
    check(cudaEventRecord(end, nullptr), "event");
    check(cudaEventSynchronize(end), "kernels");
    float elapsed = 0;
    check(cudaEventElapsedTime(&elapsed, begin, end), "event");
    if (run > 1) times.push_back(elapsed / static_cast<float>(calls));
  }
  check(cudaEventDestroy(begin), "event");
  check(cudaEventDestroy(end), "event");
  std::nth_element(times.begin(), times.begin() + 3, times.end());
  return static_cast<double>(times[3]);
}

/// Like milliseconds(), with a graph of all calls, which excludes the host's launch times.
double milliseconds_in_graph(const std::function<void(Stream, int call)>& work, int calls) {
  cudaStream_t stream;
  check(cudaStreamCreate(&stream), "stream");
  work(stream, 0);
  check(cudaStreamSynchronize(stream), "kernels");
  cudaGraph_t graph;
  cudaGraphExec_t program;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  for (int call = 0; call < calls; ++call) work(stream, call);
  check(cudaStreamEndCapture(stream, &graph), "capture");
  check(cudaGraphInstantiate(&program, graph, 0), "graph");
  const double ms =
      milliseconds([&](int) { check(cudaGraphLaunch(program, nullptr), "graph"); }, 1);
  check(cudaGraphExecDestroy(program), "graph");
  check(cudaGraphDestroy(graph), "graph");
  check(cudaStreamDestroy(stream), "stream");
  return ms / calls;
}

void bench_gemm() {
  Gemm gemm(open_cublas());
  std::printf("cuBLASLt %zu from %s\n", open_cublas().version, open_cublas().path.c_str());
  struct Size {
    const char* name;
    int64_t outputs, cols;
  };
  const Size sizes[] = {
      {"qkv", 6144, 4096}, {"o", 4096, 4096}, {"gate+up", 28672, 4096}, {"down", 4096, 14336}};
  const DeviceBuffer x(size_t{8192} * 14336 * 2), w(size_t{28672} * 4096 * 2);
  const DeviceBuffer y(size_t{8192} * 28672 * 4);
  check(cudaMemset(x.data(), 0x3c, x.bytes()), "memset");
  check(cudaMemset(w.data(), 0x3c, w.bytes()), "memset");
  check(cudaMemset(y.data(), 0, y.bytes()), "memset");
  for (const Size& s : sizes) {
    for (const int64_t rows : {2048, 8192}) {
      for (const int form : {0, 1, 2}) {
        GemmCall call;
        call.rows = rows;
        call.outputs = s.outputs;
        call.cols = s.cols;
        call.x = x.as<uint16_t>();
        call.w = w.as<uint16_t>();
        call.y = y.data();
        call.bf16_out = form == 0;
        call.add = form == 2;
        const double ms = milliseconds([&](int) { gemm.run(nullptr, call); }, 3);
        const double flops = 2.0 * static_cast<double>(rows * s.outputs * s.cols);
        const char* forms[] = {"bf16 =", "f32 =", "f32 +="};
        std::printf("gemm %-8s rows %5d %-7s %9.1f us %6.1f TFLOP/s\n", s.name,
                    static_cast<int>(rows), forms[form], ms * 1e3, flops / ms / 1e9);
      }
    }
  }
}

/// A matrix of equal weights. Its code book is unchanged.
Matrix filled(DType type, int64_t outputs, int64_t cols) {
  Matrix matrix(type, outputs, cols);
  const auto& of = traits(type);
  const auto blocks = static_cast<size_t>(outputs * (cols / of.block_size));
  auto* const weights = const_cast<std::byte*>(matrix.view().planes[0]);
  check(cudaMemset(weights, 0x11, blocks * static_cast<size_t>(of.block_bytes)), "memset");
  return matrix;
}

std::vector<Matrix> matrices(DType type, int64_t outputs, int64_t cols) {
  std::vector<Matrix> all;
  size_t bytes = 0;
  while (all.empty() || (bytes < kBeyondCaches && all.size() < 64)) {
    all.push_back(filled(type, outputs, cols));
    bytes += all.back().bytes();
  }
  return all;
}

void bench_expand(DType type) {
  const int64_t outputs = 14336, cols = 4096;
  const std::vector<Matrix> all = matrices(type, outputs, cols);
  const DeviceBuffer out(static_cast<size_t>(outputs * cols) * 2);
  const double ms = milliseconds(
      [&](int call) {
        const Matrix& m = all[static_cast<size_t>(call) % all.size()];
        expand_bf16(nullptr, m.view(), 0, outputs, out.as<uint16_t>());
      },
      8);
  const double bytes = static_cast<double>(all[0].bytes() + out.bytes());
  std::printf("expand %-7s %dx%d %8.1f us %7.0f GB/s read and written\n",
              std::string(name_of(type)).c_str(), static_cast<int>(outputs), static_cast<int>(cols),
              ms * 1e3, bytes / ms / 1e6);
}

void bench_matvec(DType type, int64_t outputs, int64_t cols, int64_t rows) {
  if (cols % traits(type).block_size != 0) return;
  const std::vector<Matrix> all = matrices(type, outputs, cols);
  const DeviceBuffer x(static_cast<size_t>(rows * cols) * 4);
  const DeviceBuffer y(static_cast<size_t>(rows * outputs) * 4);
  check(cudaMemset(x.data(), 0x3c, x.bytes()), "memset");
  MatvecInput input;
  input.x = x.data();
  input.rows = rows;
  input.cols = cols;
  const DeviceBuffer rounded(int8_bytes(rows, cols));
  if (is_block_type(type)) {
    input.int8 = int8_rows_in(rounded.data(), rows, cols);
    round_to_int8(nullptr, x.as<float>(), rows, cols, cols, input.int8);
  }
  const auto count = static_cast<int>(std::max<size_t>(all.size(), 16));
  const double ms = milliseconds_in_graph(
      [&](Stream stream, int call) {
        MatvecJob job;
        job.weight = all[static_cast<size_t>(call) % all.size()].view();
        job.y = y.as<float>();
        matvec(stream, input, {&job, 1});
      },
      count);
  std::printf("matvec %-7s %6dx%-6d rows %d %8.2f us %7.0f GB/s\n",
              std::string(name_of(type)).c_str(), static_cast<int>(outputs), static_cast<int>(cols),
              static_cast<int>(rows), ms * 1e3, static_cast<double>(all[0].bytes()) / ms / 1e6);
}

void bench_round(int64_t cols) {
  const DeviceBuffer x(static_cast<size_t>(cols) * 4), rounded(int8_bytes(1, cols));
  check(cudaMemset(x.data(), 0x3c, x.bytes()), "memset");
  const Int8Rows to = int8_rows_in(rounded.data(), 1, cols);
  const double ms = milliseconds_in_graph(
      [&](Stream stream, int) { round_to_int8(stream, x.as<float>(), 1, cols, cols, to); }, 64);
  std::printf("round to int8 %d %8.2f us\n", static_cast<int>(cols), ms * 1e3);
}

/// A layer of a model of 8 billion parameters for one token, without attention.
class Layers {
 public:
  static constexpr int64_t kHidden = 4096, kKv = 1024, kFfn = 14336;
  /// `last`: the type of the value and down matrices.
  Layers(DType type, DType last) {
    for (Layer& layer : layers_) {
      layer.q = filled(type, kHidden, kHidden);
      layer.k = filled(type, kKv, kHidden);
      layer.v = filled(last, kKv, kHidden);
      layer.o = filled(type, kHidden, kHidden);
      layer.gate = filled(type, kFfn, kHidden);
      layer.up = filled(type, kFfn, kHidden);
      layer.down = filled(last, kHidden, kFfn);
    }
  }
  size_t bytes() const {
    const Layer& l = layers_[0];
    return l.q.bytes() + l.k.bytes() + l.v.bytes() + l.o.bytes() + l.gate.bytes() + l.up.bytes() +
           l.down.bytes();
  }
  /// Which work the products of a layer include.
  enum class Form : uint8_t {
    kApart,  ///< the forms of rows are made by separate kernels
    kMade,   ///< products make the forms of rows if they can
    kGated   ///< gate and up are one product, and down makes its row from the result
  };
  void run(Stream stream, int call, Form form) const {
    const bool made = form != Form::kApart;
    const Layer& l = layers_[call % kLayers];
    const auto product = [](const Matrix& w, float* y, bool add = false) {
      return MatvecJob{.weight = w.view(), .y = y, .add = add};
    };
    const auto input = [&](const DeviceBuffer& x, const float* norm) -> MatvecInput {
      const auto* const from = x.as<float>();
      if (made) {
        return {.x = from, .rows = 1, .cols = kHidden, .made = true, .norm = norm, .eps = 1e-5f};
      }
      if (norm != nullptr) {
        rms_norm(stream, from, kHidden, norm, 1e-5f, 1, kHidden, in_.forms());
      } else {
        f32_to_product_rows(stream, from, 1, kHidden, in_.forms());
      }
      return in_.input();
    };
    const MatvecJob qkv[] = {product(l.q, q_.as<float>()), product(l.k, k_.as<float>()),
                             product(l.v, v_.as<float>())};
    matvec(stream, input(x_, norm_.as<float>()), qkv);
    const MatvecJob o = product(l.o, x_.as<float>(), true);
    matvec(stream, input(q_, nullptr), {&o, 1});
    const MatvecJob down = product(l.down, x_.as<float>(), true);
    if (form == Form::kGated && gated_matvec(stream, input(x_, norm_.as<float>()),
                                             {l.gate.view(), l.up.view(), {}, gate_.as<float>()})) {
      const MatvecInput row{.x = gate_.as<float>(), .rows = 1, .cols = kFfn, .made = true};
      return matvec(stream, row, {&down, 1});
    }
    const MatvecJob gate_up[] = {product(l.gate, gate_.as<float>()),
                                 product(l.up, up_.as<float>())};
    matvec(stream, input(x_, norm_.as<float>()), gate_up);
    swiglu(stream, gate_.as<float>(), up_.as<float>(), 1, kFfn, inner_.forms());
    matvec(stream, inner_.input(), {&down, 1});
  }

 private:
  static constexpr int kLayers = 4;
  struct Layer {
    Matrix q, k, v, o, gate, up, down;
  };
  struct Rows {
    explicit Rows(int64_t n) : cols(n), bf16(static_cast<size_t>(2 * n)), int8(int8_bytes(1, n)) {}
    ProductRows forms() const { return {bf16.as<uint16_t>(), int8_rows_in(int8.data(), 1, cols)}; }
    MatvecInput input() const {
      const ProductRows both = forms();
      return {.x = both.bf16, .bf16 = true, .rows = 1, .cols = cols, .int8 = both.int8};
    }
    int64_t cols;
    DeviceBuffer bf16, int8;
  };
  static DeviceBuffer numbers(int64_t n) {
    DeviceBuffer memory(static_cast<size_t>(4 * n));
    check(cudaMemset(memory.data(), 0, memory.bytes()), "memset");
    return memory;
  }
  Layer layers_[kLayers];
  DeviceBuffer x_ = numbers(kHidden), norm_ = numbers(kHidden), q_ = numbers(kHidden);
  DeviceBuffer k_ = numbers(kKv), v_ = numbers(kKv), gate_ = numbers(kFfn), up_ = numbers(kFfn);
  Rows in_{kHidden}, inner_{kFfn};
};

void bench_layer(const char* name, DType type, DType last) {
  const Layers layers(type, last);
  const auto bytes = static_cast<double>(layers.bytes());
  using Form = Layers::Form;
  for (const auto& [form, of] : {std::pair(Form::kApart, "apart"), std::pair(Form::kMade, "made"),
                                 std::pair(Form::kGated, "gated")}) {
    const double launched = milliseconds([&](int call) { layers.run(nullptr, call, form); }, 32);
    const double graph =
        milliseconds_in_graph([&](Stream stream, int call) { layers.run(stream, call, form); }, 32);
    std::printf("layer %-7s %-5s launched %8.2f us %7.0f GB/s   in a graph %8.2f us %7.0f GB/s\n",
                name, of, launched * 1e3, bytes / launched / 1e6, graph * 1e3, bytes / graph / 1e6);
  }
}

/// Runs gemm, layer, expand, matvec or all.
void bench(const std::string& what) {
  if (what == "all" || what == "gemm") bench_gemm();
  if (what == "all" || what == "matvec") {
    for (const int64_t cols : {4096, 14336}) bench_round(cols);
  }
  if (what == "all" || what == "layer") {
    bench_layer("BF16", DType::BF16, DType::BF16);
    bench_layer("Q8_0", DType::Q8_0, DType::Q8_0);
    bench_layer("Q4_K_M", DType::Q4_K, DType::Q6_K);
    bench_layer("Q4_K", DType::Q4_K, DType::Q4_K);
    bench_layer("Q4_0", DType::Q4_0, DType::Q4_0);
  }
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto type = static_cast<DType>(i);
    if (!on_device(type)) continue;
    if (what == "all" || what == "expand") bench_expand(type);
    if (what != "all" && what != "matvec") continue;
    const int64_t shapes[][2] = {{4096, 14336}, {14336, 4096}, {4096, 4096},
                                 {576, 576},    {576, 1536},   {49152, 576}};
    for (const auto& [outputs, cols] : shapes) bench_matvec(type, outputs, cols, 1);
    for (const int64_t rows : {2, 4, 8}) bench_matvec(type, 4096, 14336, rows);
  }
}

}  // namespace
}  // namespace longhaul::cuda

int main(int argc, char** argv) {
  try {
    longhaul::cuda::bench(argc > 1 ? argv[1] : "all");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  }
}
