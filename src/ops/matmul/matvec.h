#pragma once
// Computes y = W x for few rows of x. In decoding, every weight is read once per token, so memory
// bandwidth limits the speed. Weights are read as the model file stores them. Each weight is
// unpacked once for all rows.

#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "base/tensor_view.h"

namespace longhaul {

/// Largest number of rows of x that are multiplied together in one pass over the weights. linear()
/// multiplies larger numbers of rows in tiles, unless they are decode rows.
inline constexpr int64_t kMatvecMaxRows = 8;

/// 256 activations in int8. Blocks of 32 share a scale (amax / 127). Scale and sum are stored for
/// each run of 16 elements, the smallest sub-block of any weight type. All weight types can thus
/// use this format.
struct alignas(64) ActivationGroup {
  int8_t q[256];
  /// q in four columns: column k has q[4 * k] to q[4 * k + 3] of each run of 16.
  int8_t columns[256];
  float scale[16];
  float sum[16];  ///< scale * (sum of q over the run), which is multiplied by the minimum or offset
                  ///< of a weight block
  int32_t start[16];  ///< -128 * (sum of q over the run), for weights that are stored as u = weight
                      ///< + 128
};

/// The largest integer factor of 32 activations (FactoredGroup). For any weight type, the magnitude
/// of a dot product of 4 elements is at most 32 * 127 * 4, and that of a weight's factor is at most
/// 128. The sum of eight dot products, each multiplied by both factors, is therefore less than
/// 2^31.
inline constexpr int kMostFactor = 127;

/// 256 activations in int8 for the K types, whose factors are integers. AVX-512 multiplies the
/// factors of weights and activations as integers. An activation is x = scale * factor * q. Each 32
/// activations have a common factor from 0 to kMostFactor, the smallest one for which no |q|
/// exceeds 127. Their step (scale * factor) therefore exceeds the step of an ActivationGroup by at
/// most 1/127 of the largest step in the group.
struct alignas(64) FactoredGroup {
  int8_t q[256];
  int8_t pairs[256];  ///< q in pieces of 32, which are in the order 0, 2, 1, 3, 4, 6, 5, 7
  /// q for dot products of 8 elements, which are used if there are several rows. Two quarters of 64
  /// elements, which begin 128 elements apart, are interleaved: elements 8 * i to 8 * i + 3 of
  /// both, then elements 8 * i + 4 to 8 * i + 7 of both.
  int8_t q_of_8[256], pairs_of_8[256];
  int32_t offsets_of_8[32];  ///< -32 * (sum of each 8 elements of q), in the order of q_of_8
  int32_t offsets[64];       ///< -32 * (sum of each 4 elements of q), for weights that are stored
                             ///< as u = weight + 32
  int16_t factor16[16];      ///< 256 times the factor of each run of 16
  int16_t sum16[16];         ///< sum of q over each run of 16
  int16_t factor32[8], sum32[8];
  float scale;
};

/// Rows of activations in the formats that the kernels read: f32 as given, and int8, which is
/// computed once for all matrices. If assign() is called again, the object reuses its memory.
class ActivationRows {
 public:
  /// Sets the rows to x [rows, cols], which is f32 and contiguous. x must not move or change until
  /// the last matvec() that uses it.
  void assign(const float* x, int64_t rows, int64_t cols);

  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  const float* f32(int64_t row) const { return x_ + row * cols_; }

  /// Computes the ActivationGroups, unless they exist already. matvec() calls it if the type of a
  /// weight needs them.
  void quantize();
  /// Returns the ceil(cols / 256) groups of a row. The last group is padded with zeros. quantize()
  /// must have been called.
  const ActivationGroup* groups(int64_t row) const {
    return groups_.data() + row * groups_per_row();
  }
  int64_t groups_per_row() const { return (cols_ + 255) / 256; }

  /// Computes the FactoredGroups, unless they exist already. Only types for which reads_factored()
  /// is true need them. cols must be a multiple of 256.
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

/// Returns whether weights of this type are multiplied by FactoredGroups at the current
/// instruction-set level.
bool reads_factored(DType type);

struct MatvecJob {
  TensorView weight;            ///< [N, K], of any type and byte alignment
  float* y = nullptr;           ///< [rows, N]; see y_stride
  int64_t y_stride = 0;         ///< floats between the beginnings of two rows; 0: N
  const float* bias = nullptr;  ///< [N], added to every row; may be null
  int64_t only = -1;            ///< if not negative, only this row of x is multiplied, and y is [N]
};

/// Computes y[m, n] = sum over k of W[n, k] * x[m, k]. With block types, x is rounded to int8 in
/// blocks of 32 (ActivationGroup, FactoredGroup). Integer dot products are exact within a block,
/// and the blocks are summed in f32. Other types use f32 throughout.
void matvec(const TensorView& weight, ActivationRows& x, float* y);

/// Multiplies several matrices by the same x (query, key and value; gate and up) in one parallel
/// region. N rows of x are processed as ceil(N / 8) products of up to 8 rows. Each chunk of weights
/// is used by all of these products while it is in the cache. The result of a row is bitwise
/// independent of the other rows.
void matvec(std::span<const MatvecJob> jobs, ActivationRows& x);

}  // namespace longhaul
