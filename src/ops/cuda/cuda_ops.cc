#include "ops/cuda/cuda_ops.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "ops/cuda/attend.h"
#include "ops/cuda/cublas.h"
#include "ops/cuda/cuda_choices.h"
#include "ops/cuda/elementwise.h"
#include "ops/cuda/expand.h"
#include "ops/cuda/gpu_queue.h"
#include "ops/cuda/kv.h"
#include "ops/cuda/matrix.h"
#include "ops/cuda/matvec.h"
#include "ops/cuda/rms_norm.h"
#include "ops/cuda/rope.h"
#include "ops/cuda/staged_keys.h"

namespace longhaul::cuda {
namespace {

class OwnMatrix : public DeviceMatrix {
 public:
  explicit OwnMatrix(Matrix&& matrix) : matrix_(std::move(matrix)) {}
  int64_t rows() const override { return matrix_.rows(); }
  int64_t cols() const override { return matrix_.cols(); }
  size_t bytes() const override { return matrix_.bytes(); }
  MatrixView view() const { return matrix_.view(); }

 private:
  Matrix matrix_;
};

/// bf16; few rows in int8, too.
class OwnInput : public DeviceInput {
 public:
  explicit OwnInput(GpuQueue& queue) : bf16_(queue), int8_(queue) {}

  void resize(int64_t rows, int64_t cols) {
    rows_ = rows;
    cols_ = cols;
    bf16_.at_least(static_cast<size_t>(rows * cols) * sizeof(uint16_t));
    if (both()) int8_.at_least(int8_bytes(rows, cols));
  }
  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  /// Else there is bf16 alone: many rows, or rows that no block type has.
  bool both() const { return rows_ <= kMostMatvecRows && cols_ % 32 == 0; }
  uint16_t* bf16() const { return static_cast<uint16_t*>(bf16_.data); }
  ProductRows forms() const {
    return {bf16(), both() ? int8_rows_in(int8_.data, rows_, cols_) : Int8Rows{}};
  }

 private:
  int64_t rows_ = 0, cols_ = 0;
  Room bf16_, int8_;
};

MatrixView view_of(const DeviceMatrix& matrix) {
  return static_cast<const OwnMatrix&>(matrix).view();
}

class CudaOps : public CudaChoices {
 public:
  explicit CudaOps(GpuQueue& queue) : CudaChoices(queue) {}

  bool attend(const AttendCall& call, std::span<const AttendTask> tasks) override {
    for (const AttendTask& task : tasks) {
      for (const KeySegment& s : task.segments) {
        if (!can_attend(call.head_dim, s.rows.page_rows, s.rows.type)) return false;
      }
    }
    const SlabRange& slabs = queue_.slabs();
    // Pages of 64 bf16 keys and values, as DevicePages lays them.
    const size_t stride = std::bit_ceil(256 * static_cast<size_t>(call.head_dim));
    attention_.pages = {slabs.base(), slabs.bytes(), stride};
    staged_.run(call, tasks, [&](std::span<const AttendTask> some) {
      cuda::attend(stream(), call, some, attention_);
    });
    return true;
  }
  bool merge_attention(View<const float> other_out, View<const float> other_lse, int64_t rows,
                       int heads, int head_dim, View<float> out, View<float> lse) override {
    cuda::merge_attention(stream(), other_out.address(), other_lse.address(), rows * heads,
                          head_dim, out.address(), lse.address());
    return true;
  }

  bool rotations(const RopeTable& table, int64_t first, int64_t count, View<float> cosine,
                 View<float> sine) override {
    const std::vector<double>& frequency = table.inverse_frequency;
    const double* const there = frequencies_.upload(std::span<const double>(frequency));
    rope_angles(stream(), there, static_cast<int>(frequency.size()), table.attention_factor, first,
                count, cosine.address(), sine.address());
    return true;
  }
  bool rotate(const longhaul::Rotations& r, int64_t position, int64_t step, View<const float> x,
              int64_t rows, int heads, int head_dim, View<float> y) override {
    const int64_t stride = int64_t{heads} * head_dim;
    const Rotations rotations{r.first, r.count, r.rotary_dim, r.cosine, r.sine};
    const HeadRows from{x.address(), rows, heads, head_dim, stride};
    (step == 0 ? apply_rope_constant : apply_rope)(stream(), rotations, position, from, y.address(),
                                                   stride);
    return true;
  }

  bool append(const DeviceAppend& added) override {
    append_lists_.clear();
    const auto lists = static_cast<int64_t>(added.lists.size());
    for (int64_t i = 0; i < lists; ++i) {
      const auto at = static_cast<size_t>(i);
      append_lists_.push_back(
          {table_of(added.lists[at]), added.first[at], i * added.kv_heads / lists});
    }
    NewRows rows{.rows = added.rows, .k = added.k.address(), .v = added.v.address()};
    rows.k_stride = rows.v_stride = int64_t{added.kv_heads} * added.lists.front().head_dim;
    if (added.rotations != nullptr) {
      const longhaul::Rotations& r = *added.rotations;
      LH_ASSERT(added.position >= r.first && added.position + added.rows <= r.first + r.count);
      const int64_t angle = (added.position - r.first) * (r.rotary_dim / 2);
      rows.cosine = r.cosine + angle;
      rows.sine = r.sine + angle;
      rows.rotary_dim = r.rotary_dim;
    }
    append_rows(stream(), form_of(added.lists.front()), rows, append_lists_);
    return true;
  }
  bool keep_numbers(View<const int32_t> rows, View<float> numbers) override {
    const ColumnMove move{reinterpret_cast<uint32_t*>(numbers.address()), 0, rows.address(),
                          nullptr, rows.size()};
    move_columns(stream(), moves_.upload(std::span<const ColumnMove>(&move, 1)), 1);
    return true;
  }
  bool gather_rows(const PagedRows& from, View<const int32_t> rows, const PagedRows& to) override {
    const int32_t* const chosen = rows.place().host() ? rows_.upload(host(rows)) : rows.address();
    const RowMove move{table_of(to), 0, table_of(from), 0, chosen, nullptr, rows.size()};
    move_rows(stream(), form_of(from), moves_.upload(std::span<const RowMove>(&move, 1)), 1, true);
    return true;
  }
  bool kept_tokens(View<const int32_t> rows, View<const int32_t> tokens, int64_t behind,
                   View<int32_t> kept) override {
    cuda::kept_tokens(stream(), rows.address(), rows.size(), tokens.address(), tokens.size(),
                      static_cast<int32_t>(behind), kept.address());
    return true;
  }

  std::shared_ptr<const DeviceMatrix> matrix(const TensorView& weight) override {
    if (uploader_ == nullptr) uploader_ = std::make_unique<Uploader>(stream());
    Matrix copy(weight.type, weight.rows(), weight.cols());
    uploader_->put(weight, copy);
    return std::make_shared<OwnMatrix>(std::move(copy));
  }
  std::unique_ptr<DeviceInput> input() override { return std::make_unique<OwnInput>(queue_); }
  void linear(const DeviceInput& of, std::span<const DeviceLinear> products) override {
    const auto& x = static_cast<const OwnInput&>(of);
    if (x.rows() <= kMostMatvecRows) return few(x, products);
    for (const DeviceLinear& product : products) many(x, product);
  }
  void embed(const DeviceMatrix& table, std::span<const int32_t> tokens, View<float> x) override {
    const int32_t* const there = tokens_.upload(tokens);
    embed_rows(stream(), view_of(table), there, std::ssize(tokens), x.address());
  }
  void rms_norm_heads(View<float> x, View<const float> weight, float eps, int64_t rows, int heads,
                      int head_dim) override {
    cuda::rms_norm_heads(stream(), x.address(), weight.address(), eps, rows, heads, head_dim,
                         int64_t{heads} * head_dim);
  }

  void rms_norm(View<const float> x, View<const float> weight, float eps, int64_t rows, int64_t n,
                DeviceInput& to) override {
    const auto write = [&](auto y) {
      cuda::rms_norm(stream(), x.address(), n, weight.address(), eps, rows, n, y);
    };
    const OwnInput& y = begin(to, rows, n);
    y.both() ? write(y.forms()) : write(y.bf16());
  }
  void swiglu(View<const float> gate, View<const float> up, int64_t rows, int64_t n,
              DeviceInput& to) override {
    const OwnInput& y = begin(to, rows, n);
    if (y.both()) return cuda::swiglu(stream(), gate.address(), up.address(), rows, n, y.forms());
    cuda::swiglu(stream(), gate.address(), up.address(), rows, n, n, y.bf16());
  }
  void take(View<const float> x, int64_t rows, int64_t n, DeviceInput& to) override {
    const OwnInput& y = begin(to, rows, n);
    if (y.both()) return f32_to_product_rows(stream(), x.address(), rows, n, y.forms());
    f32_to_bf16(stream(), x.address(), rows * n, y.bf16());
  }

 private:
  static const OwnInput& begin(DeviceInput& to, int64_t rows, int64_t n) {
    auto& input = static_cast<OwnInput&>(to);
    input.resize(rows, n);
    return input;
  }

  void few(const OwnInput& x, std::span<const DeviceLinear> products) {
    std::vector<MatvecJob> jobs;
    for (const DeviceLinear& product : products) {
      jobs.push_back({.weight = view_of(*product.weight),
                      .y = product.y.address(),
                      .bias = product.bias.address(),
                      .add = product.add});
    }
    const ProductRows forms = x.forms();
    matvec(stream(),
           {.x = forms.bf16, .bf16 = true, .rows = x.rows(), .cols = x.cols(), .int8 = forms.int8},
           jobs);
  }

  void many(const OwnInput& x, const DeviceLinear& product) {
    if (gemm_ == nullptr) gemm_ = std::make_unique<Gemm>(open_cublas());
    const MatrixView w = view_of(*product.weight);
    GemmCall call{.rows = x.rows(), .outputs = w.rows, .cols = w.cols, .x = x.bf16()};
    call.y = product.y.address();
    call.add = product.add;
    if (w.bf16 != nullptr) {
      call.w = w.bf16;
      call.w_stride = w.bf16_stride;
    } else if (w.type == DType::BF16 && w.row_stride % 16 == 0) {
      call.w = reinterpret_cast<const uint16_t*>(w.planes[0]);
      call.w_stride = static_cast<int64_t>(w.row_stride / sizeof(uint16_t));
    } else {
      const int64_t stride = bf16_stride_of(w.cols);
      expanded_.at_least(static_cast<size_t>(w.rows * stride) * sizeof(uint16_t));
      expand_bf16(stream(), w, 0, w.rows, static_cast<uint16_t*>(expanded_.data));
      call.w = static_cast<const uint16_t*>(expanded_.data);
      call.w_stride = stride;
    }
    gemm_->run(stream(), call);
    if (!product.bias.empty()) {
      add_bias(stream(), product.y.address(), product.bias.address(), x.rows(), w.rows, w.rows);
    }
  }

  Scratch attention_;
  StagedKeys staged_{queue_};
  std::unique_ptr<Uploader> uploader_;
  std::unique_ptr<Gemm> gemm_;
  std::vector<AppendList> append_lists_;
  Room frequencies_{queue_}, tokens_{queue_}, expanded_{queue_}, int8_{queue_}, rows_{queue_},
      moves_{queue_};
};

}  // namespace

std::unique_ptr<DeviceOps> make_ops(GpuQueue& queue) { return std::make_unique<CudaOps>(queue); }

}  // namespace longhaul::cuda
