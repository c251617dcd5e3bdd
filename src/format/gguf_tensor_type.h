#pragma once
// Converts between DType and the numbers of tensor types in GGUF files (ggml's enum ggml_type).

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/dtype.h"

namespace longhaul {

/// Returns the type with this number, or nothing if Longhaul does not support the type.
std::optional<DType> dtype_from_ggml(uint32_t number);
uint32_t ggml_from_dtype(DType type);

/// Returns ggml's name of a type, such as "IQ2_XXS", or "unknown" for a number that no version has
/// assigned.
std::string_view ggml_type_name(uint32_t number);

/// Returns whether the type is an integer type without quantization, or f64. Tensors of such types
/// are not weights, so a file may contain them. They are listed as unreadable
/// (format/tensor_list.h).
bool is_plain_number_type(uint32_t ggml_number);

}  // namespace longhaul
