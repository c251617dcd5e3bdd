#pragma once
// In which numbers activations are multiplied with weights.

#include <cstdint>
#include <optional>
#include <string_view>

namespace longhaul {

enum class Compute : uint8_t {
  kBest,  ///< bf16 products where the CPU has them (AVX512-BF16, AMX), else int16 (AVX2), else f32
  kInt8,  ///< weights and activations of many rows rounded to int8 where that is faster, else kBest
  kF32,   ///< f32 products; for reference
  kFp8,   ///< of many rows on a GPU: 8-bit floats (ops/matmul/fp8_rows.gpu.h); the host has none
};

std::string_view name_of(Compute compute);  ///< "best", "int8", "f32" or "fp8"
std::optional<Compute> compute_from_name(std::string_view name);

}  // namespace longhaul
