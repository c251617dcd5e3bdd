#pragma once
// Defines the element types of stored tensors. A block type (a GGUF quantization) stores
// `block_size` elements in `block_bytes` bytes. A row of a tensor consists of whole blocks.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace longhaul {

enum class DType : uint8_t {
  F32,
  F16,
  BF16,
  Q4_0,
  Q4_1,
  Q5_0,
  Q5_1,
  Q8_0,
  Q3_K,
  Q4_K,
  Q5_K,
  Q6_K,
  IQ4_NL,
  IQ4_XS,
  Q2_K,
  IQ1_S,
  IQ1_M,
  IQ2_XXS,
  IQ2_XS,
  IQ2_S,
  IQ3_XXS,
  IQ3_S,
  TQ1_0,
  TQ2_0,
  MXFP4,
  NVFP4,
};
inline constexpr int kDTypeCount = 26;

/// Properties of a type.
struct DTypeTraits {
  std::string_view name;  ///< the name that GGUF tools print, e.g. "Q4_K"
  int block_size;         ///< elements in a block; 1 for plain types
  int block_bytes;
};

const DTypeTraits& traits(DType type);

inline std::string_view name_of(DType type) { return traits(type).name; }
inline bool is_block_type(DType type) { return traits(type).block_size > 1; }

/// Returns the size of `count` elements in bytes. `count` must be a multiple of the block size.
size_t bytes_of(DType type, int64_t count);

/// Returns the type with this name in upper or lower case, or nothing if the name is unknown.
std::optional<DType> dtype_from_name(std::string_view name);

}  // namespace longhaul
