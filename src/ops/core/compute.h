#pragma once
// Precision of matrix products of activations and weights. On a GPU, kFp8 differs from the others,
// which are all computed alike.

#include <cstdint>
#include <optional>
#include <string_view>

namespace longhaul {

enum class Compute : uint8_t {
  kBest,  ///< bf16 if the CPU supports it (AVX512-BF16, AMX), otherwise int16 (AVX2), otherwise f32
  kInt8,  ///< in prefill, weights and activations are rounded to int8 where that is faster;
          ///< otherwise as kBest
  kF32,   ///< f32 throughout; the reference for the other precisions
  kFp8,   ///< in prefill on a GPU, 8-bit floats (ops/matmul/fp8_rows.gpu.h); not available on the
          ///< host
};

std::string_view name_of(Compute compute);  ///< returns "best", "int8", "f32" or "fp8"
std::optional<Compute> compute_from_name(std::string_view name);

}  // namespace longhaul
