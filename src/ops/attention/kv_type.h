#pragma once
// The types of stored keys and values. They are often equal, but keys are more sensitive to
// rounding than values, so each may have its own type. ops/attention/stored_key.h defines the row
// formats.

#include <optional>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace longhaul {

struct KvType {
  DType k = DType::BF16;  ///< F32, F16, BF16, Q8_0 or Q4_0
  DType v = DType::BF16;

  constexpr KvType() = default;
  constexpr KvType(DType both) : k(both), v(both) {}  // one type for both
  constexpr KvType(DType keys, DType values) : k(keys), v(values) {}
  bool operator==(const KvType&) const = default;

  /// Returns whether rows of `head_dim` elements can be stored in these types. Block types need
  /// whole blocks.
  bool holds(int head_dim) const;
};

/// Returns whether rows can be stored in this type.
bool is_kv_type(DType type);

/// Returns the names of the types for messages: "f32, f16, bf16, q8_0 or q4_0".
std::string kv_type_names();

/// Returns "BF16", or "k=Q8_0,v=Q4_0" if the types differ.
std::string name_of(const KvType& type);

/// Returns the value for `--kv-type`: "bf16", "k=q8_0,v=q4_0".
std::string flag_of(const KvType& type);

/// Parses a value of `--kv-type` in upper or lower case. The result is empty if the value is
/// invalid. If only k or only v is given, the other one is BF16.
std::optional<KvType> kv_type_from_name(std::string_view name);

}  // namespace longhaul
