#pragma once
// Recommends attention methods for a text of a given length. `longhaul advise` and the warning
// about texts beyond the trained length use these recommendations.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/session.h"

namespace longhaul {

/// Returns true if, in a text of `tokens` tokens, no query row attends to a key that is farther
/// away than the model's trained context length. Also returns true if the trained length is
/// unknown.
bool stays_within_training(const AttentionDriver& method, const ModelShape& shape, int64_t tokens,
                           int chunk);

/// Returns whether the model has a profile for the method (attention/profile.h).
bool has_profile(const ModelShape& shape, std::string_view method);

struct Recommendation {
  std::string attention, kv_type;  ///< values of --attention and --kv-type
  std::string why;                 ///< one sentence for users that gives the reason
};

/// Returns whether the text fits in memory with these settings.
using FitsInMemory = std::function<bool(const std::string& attention, const std::string& kv_type)>;

/// Returns at most `most` recommendations, best first. A method is included if `fits` returns true
/// and stays_within_training() is true. The order is fixed (docs/methods/README.md): dense
/// attention, then methods that attend to the whole text, then methods that select parts of it.
/// Methods that evict the middle of a text are never recommended.
std::vector<Recommendation> recommendations(const ModelShape& shape, int64_t tokens, int chunk,
                                            const std::string& kv_type, const FitsInMemory& fits,
                                            size_t most);

/// Returns the first of the recommendations, or nothing if there is none.
std::optional<Recommendation> recommend(const ModelShape& shape, int64_t tokens, int chunk,
                                        const std::string& kv_type, const FitsInMemory& fits);

}  // namespace longhaul
