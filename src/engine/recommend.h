#pragma once
// Recommends an attention method for a text of some length, consistently for all callers (`longhaul
// advise`, the warning beyond the trained length).

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/session.h"

namespace longhaul {

/// Whether rows of a method never see farther than the trained context; true if unknown.
bool stays_within_training(const AttentionDriver& method, const ModelShape& shape, int64_t tokens,
                           int chunk);

/// Whether a profile for this model exists beside it (attention/method_spec.h).
bool has_profile(const ModelShape& shape, std::string_view method);

struct Recommendation {
  std::string attention, kv_type;  ///< values of the flags
  std::string why;
};

using FitsInMemory = std::function<bool(const std::string& attention, const std::string& kv_type)>;

/// At most `most` methods, best first, in a fixed order (docs/methods/README.md): those that `fit`,
/// given as values of --attention and --kv-type, and whose rows stay within the trained length.
/// Dense attention comes first, then methods that keep all of the text, then methods that look up
/// parts of it. Methods that evict the middle of a text are never recommended.
std::vector<Recommendation> recommendations(const ModelShape& shape, int64_t tokens, int chunk,
                                            const std::string& kv_type, const FitsInMemory& fits,
                                            size_t most);

/// The first of the recommended methods, if there is one.
std::optional<Recommendation> recommend(const ModelShape& shape, int64_t tokens, int chunk,
                                        const std::string& kv_type, const FitsInMemory& fits);

}  // namespace longhaul
