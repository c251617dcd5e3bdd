#pragma once
// Which attention method to try for a text of some length: one answer, the same wherever it is
// asked
// (`longhaul advise`, the warning beyond the trained length).

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "engine/session.h"

namespace longhaul {

/// Whether a method's rows see no farther than the model was trained for; true where unknown.
bool stays_within_training(const AttentionDriver& method, const ModelShape& shape, int64_t tokens,
                           int chunk);

/// Whether settings for this model lie beside it (attention/method_spec.h).
bool has_profile(const ModelShape& shape, std::string_view method);

struct Recommendation {
  std::string attention, kv_type;  ///< as the flags take them
  std::string why;
};

/// The first of a fixed order (docs/methods/README.md) that `fits`, as --attention and --kv-type
/// name it, and whose rows stay within the trained length: dense attention where it can; else what
/// forgets least. None where nothing does.
std::optional<Recommendation> recommend(
    const ModelShape& shape, int64_t tokens, int chunk, const std::string& kv_type,
    const std::function<bool(const std::string& attention, const std::string& kv_type)>& fits);

}  // namespace longhaul
