#pragma once
// The types of stored keys and values. Keys and values may have different types, because keys are
// more sensitive to rounding. ops/attention/stored_key.h defines the row formats.

#include <optional>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace longhaul {

struct KvType {
  DType k = DType::BF16;  ///< F32, F16, BF16, Q8_0 or Q4_0
  DType v = DType::BF16;

  constexpr KvType() = default;
  constexpr KvType(DType both) : k(both), v(both) {}  // one type for keys and values
  constexpr KvType(DType keys, DType values) : k(keys), v(values) {}
  bool operator==(const KvType&) const = default;

  /// Returns whether keys and values of `head_dim` elements can be stored in these types. For block
  /// types, head_dim must be a multiple of the block size.
  bool holds(int head_dim) const;
};

/// Returns whether keys and values can be stored in this type.
bool is_kv_type(DType type);

/// Returns the names of the types for error messages: "f32, f16, bf16, q8_0 or q4_0".
std::string kv_type_names();

/// Returns a name such as "BF16", or "k=Q8_0,v=Q4_0" if the types differ.
std::string name_of(const KvType& type);

/// Returns the type as a value of `--kv-type`, such as "bf16" or "k=q8_0,v=q4_0".
std::string flag_of(const KvType& type);

/// Parses a value of `--kv-type`, in upper or lower case. Returns an empty result if the value is
/// invalid. If the value names only k or only v, the other type is BF16.
std::optional<KvType> kv_type_from_name(std::string_view name);

}  // namespace longhaul
