#pragma once

#include <cstdint>

namespace longhaul {

/// The origin of rows decides how more than kMatvecMaxRows of them are multiplied.
enum class RowKind : uint8_t {
  kPrefill,  ///< rows of a prompt: tiles or the GEMM library, which are fastest for many rows
  /// One row of each of several decoding sequences. On the host the result of a row does not
  /// depend, in any bit, on the number of rows: N rows are ceil(N / 8) products of up to 8 rows
  /// (ops/matmul/matvec.h).
  kDecode,
};

}  // namespace longhaul
