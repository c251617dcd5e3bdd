#include "ops/core/compute.h"

#include <algorithm>
#include <array>

namespace longhaul {
namespace {

constexpr std::array<std::string_view, 4> kComputeNames = {"best", "int8", "f32", "fp8"};

}  // namespace

std::string_view name_of(Compute compute) { return kComputeNames[static_cast<size_t>(compute)]; }

std::optional<Compute> compute_from_name(std::string_view name) {
  const auto at = std::ranges::find(kComputeNames, name);
  if (at == kComputeNames.end()) return std::nullopt;
  return static_cast<Compute>(at - kComputeNames.begin());
}

}  // namespace longhaul
