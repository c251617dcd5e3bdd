#pragma once
// The types that stored keys and values have: often one, but keys are more sensitive to rounding
// than values, so that each may have its own. What a row of a type is: ops/attention/stored_key.h.

#include <optional>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace longhaul {

struct KvType {
  DType k = DType::BF16;  ///< F32, F16, BF16, Q8_0 or Q4_0
  DType v = DType::BF16;

  constexpr KvType() = default;
  constexpr KvType(DType both) : k(both), v(both) {}  // a type alone is that of both
  constexpr KvType(DType keys, DType values) : k(keys), v(values) {}
  bool operator==(const KvType&) const = default;

  /// Whether rows of `head_dim` elements can be kept so: block types want whole blocks.
  bool holds(int head_dim) const;
};

/// The types that rows can be kept in.
bool is_kv_type(DType type);

/// What messages call them: "f32, f16, bf16, q8_0 or q4_0".
std::string kv_type_names();

/// "BF16", or "k=Q8_0,v=Q4_0" where they differ.
std::string name_of(const KvType& type);

/// The same as `--kv-type` takes it: "bf16", "k=q8_0,v=q4_0".
std::string flag_of(const KvType& type);

/// Of such a text, in any case; empty where it is none. A side that is not named is BF16.
std::optional<KvType> kv_type_from_name(std::string_view name);

}  // namespace longhaul
