#pragma once
// Converts between tensor types and their numbers in GGUF files (ggml's enum ggml_type).

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/dtype.h"

namespace longhaul {

/// Returns the type of a number, or nothing if the type cannot be read.
std::optional<DType> dtype_from_ggml(uint32_t number);
uint32_t ggml_from_dtype(DType type);

/// Returns ggml's name of a type, such as "IQ2_XXS", or "unknown" for a number that no version has
/// assigned.
std::string_view ggml_type_name(uint32_t number);

/// Returns whether the type is a plain integer type or f64. Such tensors are not weights, so a file
/// may contain them as long as they are not used.
bool is_plain_number_type(uint32_t ggml_number);

}  // namespace longhaul
