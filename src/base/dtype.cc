#include "base/dtype.h"

#include <array>
#include <cctype>

#include "base/error.h"

namespace longhaul {
namespace {

constexpr std::array<DTypeTraits, kDTypeCount> kTraits = {{
    {"F32", 1, 4},
    {"F16", 1, 2},
    {"BF16", 1, 2},
    {"Q4_0", 32, 2 + 16},
    {"Q4_1", 32, 4 + 16},
    {"Q5_0", 32, 2 + 4 + 16},
    {"Q5_1", 32, 4 + 4 + 16},
    {"Q8_0", 32, 2 + 32},
    {"Q3_K", 256, 32 + 64 + 12 + 2},
    {"Q4_K", 256, 4 + 12 + 128},
    {"Q5_K", 256, 4 + 12 + 32 + 128},
    {"Q6_K", 256, 128 + 64 + 16 + 2},
    {"IQ4_NL", 32, 2 + 16},
    {"IQ4_XS", 256, 2 + 2 + 4 + 128},
    {"Q2_K", 256, 16 + 64 + 4},
    {"IQ1_S", 256, 2 + 32 + 16},
    {"IQ1_M", 256, 32 + 16 + 8},
    {"IQ2_XXS", 256, 2 + 64},
    {"IQ2_XS", 256, 2 + 64 + 8},
    {"IQ2_S", 256, 2 + 64 + 8 + 8},
    {"IQ3_XXS", 256, 2 + 64 + 32},
    {"IQ3_S", 256, 2 + 64 + 8 + 32 + 4},
    {"TQ1_0", 256, 48 + 4 + 2},
    {"TQ2_0", 256, 64 + 2},
    {"MXFP4", 32, 1 + 16},
    {"NVFP4", 64, 4 + 32},
}};

bool same_name(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::toupper(static_cast<unsigned char>(a[i])) !=
        std::toupper(static_cast<unsigned char>(b[i]))) {
      return false;
    }
  }
  return true;
}

}  // namespace

const DTypeTraits& traits(DType type) { return kTraits[static_cast<size_t>(type)]; }

size_t bytes_of(DType type, int64_t count) {
  const DTypeTraits& t = traits(type);
  if (t.block_size == 1 && count >= 0) {  // saves divisions for every list of a decode step
    return static_cast<size_t>(count) * static_cast<size_t>(t.block_bytes);
  }
  LH_ASSERT(count >= 0 && count % t.block_size == 0);
  return static_cast<size_t>(count / t.block_size) * static_cast<size_t>(t.block_bytes);
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (same_name(kTraits[static_cast<size_t>(i)].name, name)) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace longhaul
