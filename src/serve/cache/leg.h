#pragma once
// Describes how the tokens of a sequence were computed. This determines whether results are bitwise
// equal.

#include <cstdint>
#include <span>
#include <vector>

namespace longhaul::serve {

/// A range of tokens of a sequence that was computed by one prefill, or by decoding.
struct Leg {
  int64_t end = 0;  ///< number of tokens of the sequence up to the end of the range
  bool decoded = false;
  bool operator==(const Leg&) const = default;
};

/// Returns the legs of the first `tokens` tokens.
std::vector<Leg> first_legs(std::span<const Leg> legs, int64_t tokens);
/// Returns the number of tokens before the first decoded one.
int64_t prefilled_tokens(std::span<const Leg> legs);
/// Appends a leg. If the last leg and the new one are both decoded, they become one.
void add_leg(std::vector<Leg>& legs, Leg leg);

}  // namespace longhaul::serve
