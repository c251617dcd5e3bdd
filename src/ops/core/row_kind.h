#pragma once

#include <cstdint>

namespace longhaul {

/// The origin of rows. It determines how products with more than kMatvecMaxRows rows are computed.
enum class RowKind : uint8_t {
  /// Rows of a prompt: computed by tiles or by the GEMM library, which are fastest for many rows.
  kPrefill,
  /// Rows of several sequences in decoding, one row per sequence. On the host, the result of a row
  /// is bitwise independent of the number of rows. N rows are computed as ceil(N / 8) products of
  /// up to 8 rows (ops/matmul/matvec.h).
  kDecode,
};

}  // namespace longhaul
