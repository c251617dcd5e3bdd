#pragma once
// Recommends an attention method for a text of some length. All callers get the same
// recommendations: `longhaul advise`, and the warning about texts beyond the trained length.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/session.h"

namespace longhaul {

/// Returns whether rows never see keys at a distance beyond the trained context. Returns true if
/// the trained length is unknown. `tokens` is the length of the text.
bool stays_within_training(const AttentionDriver& method, const ModelShape& shape, int64_t tokens,
                           int chunk);

/// Returns whether the model has a profile for the method (attention/profile.h).
bool has_profile(const ModelShape& shape, std::string_view method);

struct Recommendation {
  std::string attention, kv_type;  ///< values of --attention and --kv-type
  std::string why;                 ///< reason for users
};

/// Returns whether the text fits in memory with these settings.
using FitsInMemory = std::function<bool(const std::string& attention, const std::string& kv_type)>;

/// Returns at most `most` recommendations, best first, in a fixed order (docs/methods/README.md). A
/// method is included if `fits` returns true and its rows stay within the trained length. Dense
/// attention comes first. It is followed by methods that keep the whole text, and then by methods
/// that look up parts of it. Methods that evict the middle of a text are never recommended.
std::vector<Recommendation> recommendations(const ModelShape& shape, int64_t tokens, int chunk,
                                            const std::string& kv_type, const FitsInMemory& fits,
                                            size_t most);

/// Returns the first recommendation, if there is one.
std::optional<Recommendation> recommend(const ModelShape& shape, int64_t tokens, int chunk,
                                        const std::string& kv_type, const FitsInMemory& fits);

}  // namespace longhaul
