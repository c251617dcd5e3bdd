#include "ops/core/gpu/cuda_ops.gpu.h"

#include "ops/core/elementwise.gpu.h"
#include "ops/core/rms_norm.gpu.h"
#include "ops/matmul/expand.gpu.h"
#include "ops/matmul/expert_mix.gpu.h"

namespace longhaul::cuda {
namespace {

class CudaOps : public DeviceOps {
 public:
  explicit CudaOps(GpuQueue& queue) : queue_(queue) {}

  std::shared_ptr<const DeviceMatrix> matrix(std::span<const TensorView> parts) override {
    const TensorView& first = parts.front();
    if (!on_device(first.type)) return nullptr;
    if (uploader_ == nullptr) uploader_ = std::make_unique<Uploader>(stream());
    int64_t rows = 0;
    for (const TensorView& part : parts) rows += part.rows();
    Matrix copy(first.type, rows, first.cols());
    rows = 0;
    for (const TensorView& part : parts) {
      uploader_->put(part, copy, rows);
      rows += part.rows();
    }
    return std::make_shared<OwnMatrix>(std::move(copy), queue_.copies());
  }
  std::unique_ptr<DeviceInput> input(Compute compute) override {
    const bool fp8 = compute == Compute::kFp8;
    if (fp8) products_.require_fp8();
    return std::make_unique<OwnInput>(queue_, fp8);
  }
  void linear(const DeviceInput& of, std::span<const DeviceLinear> products) override {
    products_.linear(static_cast<const OwnInput&>(of), products);
  }
  void embed(const DeviceMatrix& table, std::span<const int32_t> tokens, float scale,
             View<float> x) override {
    const int32_t* const there = tokens_.upload(tokens);
    embed_rows(stream(), view_of(table), there, std::ssize(tokens), x.address());
    if (scale != 1) cuda::scale_and_cap(stream(), x.address(), x.size(), scale, 0);
  }
  void rms_norm_heads(View<float> x, View<const float> weight, float eps, int64_t rows, int heads,
                      int head_dim) override {
    if (heads == 1) {
      return cuda::rms_norm(stream(), x.address(), head_dim, weight.address(), eps, rows, head_dim,
                            x.address());
    }
    cuda::rms_norm_heads(stream(), x.address(), weight.address(), eps, rows, heads, head_dim,
                         int64_t{heads} * head_dim);
  }

  void grow_queries(View<float> q, int64_t rows, int64_t n, int64_t first,
                    const QueryGrowth& growth) override {
    cuda::grow_queries(stream(), q.address(), rows, n, first, growth);
  }
  void add_scaled(View<const float> y, View<const float> weight, float eps, float scale,
                  int64_t rows, int64_t n, View<float> x) override {
    if (weight.empty()) {
      return cuda::add_scaled(stream(), y.address(), scale, rows * n, x.address());
    }
    cuda::add_rms_norm(stream(), y.address(), weight.address(), eps, scale, rows, n, x.address());
  }
  void scale_and_cap(View<float> x, float scale, float cap) override {
    cuda::scale_and_cap(stream(), x.address(), x.size(), scale, cap);
  }
  void mix_experts(const DeviceInput& x, View<const float> logits, const DeviceExperts& of,
                   View<float> y, bool add) override {
    experts_.run(static_cast<const OwnInput&>(x), logits.address(), of, y.address(), add);
  }

  void linear_back(const DeviceInput& dy, const DeviceMatrix& weight, bool add,
                   View<float> dx) override {
    products_.back(static_cast<const OwnInput&>(dy), static_cast<const OwnMatrix&>(weight),
                   dx.address(), add);
  }

  void rms_norm(View<const float> x, View<const float> weight, float eps, int64_t rows, int64_t n,
                DeviceInput& to) override {
    static_cast<OwnInput&>(to).make(x.address(), weight.address(), eps, rows, n);
  }
  void swiglu(View<const float> gate, View<const float> up, const Gating& gating, int64_t rows,
              int64_t n, DeviceInput& to) override {
    const OwnInput& y = begin(to, rows, n);
    if (y.both()) {
      return cuda::swiglu(stream(), gate.address(), up.address(), rows, n, y.forms(), gating);
    }
    cuda::swiglu(stream(), gate.address(), up.address(), rows, n, n, y.bf16(), gating);
  }
  bool gated_products(const DeviceInput& x, const DeviceMatrix& gate, const DeviceMatrix& up,
                      const Gating& gating, View<float> gate_room, View<float> up_room,
                      DeviceInput& to) override {
    const auto& of = static_cast<const OwnInput&>(x);
    if (of.rows() == 1) return gated_product(of, gate, up, gating, gate_room, to);
    if (of.rows() <= kMostMatvecRows || of.both()) return false;
    const auto multiply = [&](const DeviceMatrix& weight, View<float> room) {
      auto* const y = reinterpret_cast<uint16_t*>(room.address());
      products_.many_bf16(of, static_cast<const OwnMatrix&>(weight), y);
      return y;
    };
    const uint16_t* const gated = multiply(gate, gate_room);
    const uint16_t* const raised = multiply(up, up_room);
    const int64_t n = gate.rows();
    cuda::swiglu(stream(), gated, raised, of.rows(), n, n, begin(to, of.rows(), n).bf16(), gating);
    return true;
  }
  void take(View<const float> x, int64_t rows, int64_t n, DeviceInput& to) override {
    static_cast<OwnInput&>(to).make(x.address(), nullptr, 0, rows, n);
  }

 private:
  bool gated_product(const OwnInput& x, const DeviceMatrix& gate, const DeviceMatrix& up,
                     const Gating& gating, View<float> room, DeviceInput& to) {
    const GatedMatvec job{view_of(gate), view_of(up), gating, room.address()};
    if (!gated_matvec(stream(), x.for_products(), job)) return false;
    static_cast<OwnInput&>(to).make(job.y, nullptr, 0, 1, gate.rows());
    return true;
  }
  static const OwnInput& begin(DeviceInput& to, int64_t rows, int64_t n) {
    auto& input = static_cast<OwnInput&>(to);
    input.resize(rows, n);
    return input;
  }

  cudaStream_t stream() const { return queue_.handle(); }

  GpuQueue& queue_;
  std::unique_ptr<Uploader> uploader_;
  Products& products_ = queue_.own<Products>();
  ExpertMix experts_{queue_};
  Room tokens_{queue_};
};

}  // namespace

std::unique_ptr<DeviceOps> make_ops(GpuQueue& queue) { return std::make_unique<CudaOps>(queue); }

}  // namespace longhaul::cuda
