#pragma once
// y = W x for few rows of x. In decode every weight is read once per token, so memory bandwidth
// limits the speed. Weights stay as the file stores them, and each is unpacked once for all rows.

#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "base/tensor_view.h"

namespace longhaul {

/// Rows of x that one pass over the weights multiplies. linear() sends more rows than this to tiles
/// unless they are decode rows.
inline constexpr int64_t kMatvecMaxRows = 8;

/// 256 activations in int8. Blocks of 32 share a scale (amax / 127). Scale and sum are kept for
/// each run of 16, the finest sub-block of any weight type, so that all types use the same form.
struct alignas(64) ActivationGroup {
  int8_t q[256];
  int8_t columns[256];  ///< q as four columns: column k has q 4 * k to 4 * k + 3 of each run of 16
  float scale[16];
  float sum[16];      ///< scale * (sum of its 16 q), for a weight block's minimum or offset
  int32_t start[16];  ///< -128 * (sum of its 16 q), for weights that are u - 128
};

/// The largest integer factor of 32 activations. A dot product of 4 is within 32 * 127 * 4 for any
/// type, and the factor of a weight is within 128. The sum of eight products (dot product times
/// both factors) is therefore less than 2^31.
inline constexpr int kMostFactor = 127;

/// 256 activations in int8 for the types whose own factors are integers (the K types). AVX-512
/// multiplies their factors as integers. An activation is x = scale * factor * q. Each 32
/// activations have a factor from 0 to kMostFactor, which is the smallest one that keeps q within
/// 127. Their step (scale * factor) therefore exceeds the step of an ActivationGroup by at most
/// 1/127 of the largest step of the group.
struct alignas(64) FactoredGroup {
  int8_t q[256];
  int8_t pairs[256];  ///< q in pieces of 32; order of the pieces: 0, 2, 1, 3, 4, 6, 5, 7
  /// q for dot products of 8 elements, which products of several rows use. Two quarters of 64 that
  /// are 128 apart are interleaved: elements 8 * i to 8 * i + 3 of both, then elements 8 * i + 4 to
  /// 8 * i + 7 of both.
  int8_t q_of_8[256], pairs_of_8[256];
  int32_t offsets_of_8[32];  ///< -32 * (sum of each 8 q), in the order of q_of_8
  int32_t offsets[64];       ///< -32 * (sum of 4 q), for weights that are u - 32
  int16_t factor16[16];      ///< 256 times the factor of each 16
  int16_t sum16[16];         ///< sum of each 16 q
  int16_t factor32[8], sum32[8];
  float scale;
};

/// Rows of activations in the forms that the kernels read: f32 as given, and int8, which is
/// computed once for all matrices. Keep one object and assign() to it, so that its memory is
/// reused.
class ActivationRows {
 public:
  /// Sets x: [rows, cols] f32, packed. It must stay in place until the last matvec on it.
  void assign(const float* x, int64_t rows, int64_t cols);

  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  const float* f32(int64_t row) const { return x_ + row * cols_; }

  /// Computes the int8 form if necessary. matvec() calls it when a weight needs it.
  void quantize();
  /// Returns the row's ceil(cols / 256) groups. The last one is padded with zeros. Call quantize()
  /// first.
  const ActivationGroup* groups(int64_t row) const {
    return groups_.data() + row * groups_per_row();
  }
  int64_t groups_per_row() const { return (cols_ + 255) / 256; }

  /// Computes the other int8 form, FactoredGroup. Only for types with reads_factored(), and for
  /// rows of whole groups.
  void factor();
  const FactoredGroup* factored(int64_t row) const {
    return factored_.data() + row * groups_per_row();
  }

 private:
  const float* x_ = nullptr;
  int64_t rows_ = 0, cols_ = 0;
  bool quantized_ = false, is_factored_ = false;
  Buffer<ActivationGroup> groups_;
  Buffer<FactoredGroup> factored_;
};

/// Returns whether weights of the type are multiplied with FactoredGroups at the current ISA level.
bool reads_factored(DType type);

struct MatvecJob {
  TensorView weight;            ///< [N, K], any type, any byte alignment
  float* y = nullptr;           ///< [rows, N] with rows y_stride apart
  int64_t y_stride = 0;         ///< 0: N
  const float* bias = nullptr;  ///< [N], added to every row; may be null
  int64_t only = -1;            ///< if at least 0: only this row of x, and y is [N]
};

/// Computes y[m, n] = sum over k of W[n, k] * x[m, k] (+ bias[n]). For block types, x is rounded to
/// int8 in blocks of 32 (ActivationGroup, FactoredGroup). Integer dot products are exact, and the
/// results of the blocks are summed in f32. Plain types use f32 throughout.
void matvec(const TensorView& weight, ActivationRows& x, float* y);

/// Multiplies several matrices that read the same x (query, key, value; gate, up) in one parallel
/// region. N rows of x are ceil(N / 8) products of up to 8 rows, which share each chunk of weights
/// while it is in the cache. A row's result has the same bits whatever the other rows are.
void matvec(std::span<const MatvecJob> jobs, ActivationRows& x);

}  // namespace longhaul
