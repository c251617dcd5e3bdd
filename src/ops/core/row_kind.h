#pragma once

#include <cstdint>

namespace longhaul {

/// Origin of the rows of a matrix product: a prompt or decoding. For more than kMatvecMaxRows rows
/// (ops/matmul/matvec.h), it determines how the product is computed.
enum class RowKind : uint8_t {
  /// Rows of a prompt. Their products are computed in tiles or by the GEMM library, which is
  /// fastest for many rows.
  kPrefill,
  /// Rows of sequences in decoding, one row per sequence. On the host, the result of a row is
  /// bitwise independent of the number of rows. N rows are computed as ceil(N / 8) products of up
  /// to 8 rows (ops/matmul/matvec.h).
  kDecode,
};

}  // namespace longhaul
