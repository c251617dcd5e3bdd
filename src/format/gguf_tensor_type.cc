#include "format/gguf_tensor_type.h"

#include <algorithm>
#include <array>

#include "base/assert.h"

namespace longhaul {
namespace {

/// The index is the number in the file; withdrawn numbers are empty.
constexpr std::array<std::string_view, 41> kGgmlNames = {
    "F32",   "F16",        "Q4_0",       "Q4_1",       "Q4_2",     "Q4_3",     "Q5_0",
    "Q5_1",  "Q8_0",       "Q8_1",       "Q2_K",       "Q3_K",     "Q4_K",     "Q5_K",
    "Q6_K",  "Q8_K",       "IQ2_XXS",    "IQ2_XS",     "IQ3_XXS",  "IQ1_S",    "IQ4_NL",
    "IQ3_S", "IQ2_S",      "IQ4_XS",     "I8",         "I16",      "I32",      "I64",
    "F64",   "IQ1_M",      "BF16",       "Q4_0_4_4",   "Q4_0_4_8", "Q4_0_8_8", "TQ1_0",
    "TQ2_0", "IQ4_NL_4_4", "IQ4_NL_4_8", "IQ4_NL_8_8", "MXFP4",    "NVFP4",
};

}  // namespace

std::string_view ggml_type_name(uint32_t number) {
  return number < kGgmlNames.size() ? kGgmlNames[number] : "unknown";
}

std::optional<DType> dtype_from_ggml(uint32_t number) {
  return dtype_from_name(ggml_type_name(number));
}

uint32_t ggml_from_dtype(DType type) {
  const auto at = std::find(kGgmlNames.begin(), kGgmlNames.end(), name_of(type));
  LH_ASSERT(at != kGgmlNames.end());
  return static_cast<uint32_t>(at - kGgmlNames.begin());
}

bool is_plain_number_type(uint32_t number) { return number >= 24 && number <= 28; }

}  // namespace longhaul
