#pragma once
// Precision of matrix products of activations and weights.

#include <cstdint>
#include <optional>
#include <string_view>

namespace longhaul {

enum class Compute : uint8_t {
  kBest,  ///< bf16 if the CPU supports it (AVX512-BF16, AMX), otherwise int16 (AVX2), otherwise f32
  kInt8,  ///< prefill rounds weights and activations to int8 where that is faster, else kBest
  kF32,   ///< f32 products; for reference
  kFp8,   ///< prefill on a GPU uses 8-bit floats (ops/matmul/fp8_rows.gpu.h); not on the host
};

std::string_view name_of(Compute compute);  ///< returns "best", "int8", "f32" or "fp8"
std::optional<Compute> compute_from_name(std::string_view name);

}  // namespace longhaul
