#pragma once
// Tensor types by their number in a GGUF file (ggml's enum ggml_type).

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/dtype.h"

namespace longhaul {

/// Empty for the types that cannot be read.
std::optional<DType> dtype_from_ggml(uint32_t number);
uint32_t ggml_from_dtype(DType type);

/// ggml's name, e.g. "IQ2_XXS"; "unknown" for a number that no version gave out.
std::string_view ggml_type_name(uint32_t number);

/// Plain integers and f64: no weights, so a file may hold them as long as nobody asks.
bool is_plain_number_type(uint32_t ggml_number);

}  // namespace longhaul
