#pragma once
// y = W x for few rows of x: decoding, where every weight is read once per token and the memory's
// bandwidth sets the speed. Weights stay as the file stores them; each is unpacked once for all
// rows.

#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "base/tensor_view.h"

namespace longhaul {

inline constexpr int64_t kMatvecMaxRows = 8;  ///< of x; more are linear()'s

/// 256 activations in int8: blocks of 32 share a scale (amax / 127). Scale and sum are kept per 16,
/// the finest sub-block of any weight type, so that all types read them alike.
struct ActivationGroup {
  int8_t q[256];
  float scale[16];
  float sum[16];  ///< scale * (sum of its 16 q): what a weight block's minimum or offset multiplies
};

/// Up to kMatvecMaxRows rows of activations, in the forms that the weights ask for: f32 as given,
/// int8 made once however many matrices read it. Keep one for its memory and assign() to it.
class ActivationRows {
 public:
  /// x: [rows, cols] f32, packed; it must stay in place until the last matvec on it.
  void assign(const float* x, int64_t rows, int64_t cols);

  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  const float* f32(int64_t row) const { return x_ + row * cols_; }

  /// Makes the int8 form if it is not there yet. matvec() calls it when a weight needs it.
  void quantize();
  /// ceil(cols / 256) groups, the last padded with zeros. After quantize().
  const ActivationGroup* groups(int64_t row) const {
    return groups_.data() + row * groups_per_row();
  }
  int64_t groups_per_row() const { return (cols_ + 255) / 256; }

 private:
  const float* x_ = nullptr;
  int64_t rows_ = 0, cols_ = 0;
  bool quantized_ = false;
  Buffer<ActivationGroup> groups_;
};

struct MatvecJob {
  TensorView weight;            ///< [N, K], any type, any byte alignment
  float* y = nullptr;           ///< [rows, N] with rows y_stride apart
  int64_t y_stride = 0;         ///< 0: N
  const float* bias = nullptr;  ///< [N], added to every row; may be null
  int64_t only = -1;            ///< from 0 on: of this row of x alone, y is [N]
};

/// y[m, n] = sum_k W[n, k] x[m, k] (+ bias[n]). Block types: x rounded to int8 in blocks of 32,
/// exact integer dot products, f32 sums of the blocks. Plain types: f32 throughout.
void matvec(const TensorView& weight, ActivationRows& x, float* y);

/// Several matrices that read the same x (query, key, value; gate, up) in one parallel region.
void matvec(std::span<const MatvecJob> jobs, ActivationRows& x);

}  // namespace longhaul
