#pragma once
// Tensor types by their number in a GGUF file (ggml's enum ggml_type).

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/dtype.h"

namespace longhaul {

/// Empty for types that cannot be read.
std::optional<DType> dtype_from_ggml(uint32_t number);
uint32_t ggml_from_dtype(DType type);

/// ggml's name, such as "IQ2_XXS"; "unknown" for a number that no version has assigned.
std::string_view ggml_type_name(uint32_t number);

/// Plain integers and f64. They are not weights, so a file may contain them as long as they are not
/// requested.
bool is_plain_number_type(uint32_t ggml_number);

}  // namespace longhaul
