#pragma once
// The way in which the tokens of a sequence were read.

#include <cstdint>
#include <span>
#include <vector>

namespace longhaul::serve {

/// A stretch of a sequence: one prefill, or decoded tokens.
struct Leg {
  int64_t end = 0;  ///< tokens of the sequence after it
  bool decoded = false;
  bool operator==(const Leg&) const = default;
};

/// The first `tokens` tokens of a sequence with these legs.
std::vector<Leg> first_legs(std::span<const Leg> legs, int64_t tokens);
/// Tokens before the first decoded one.
int64_t prefilled_tokens(std::span<const Leg> legs);
/// Adds a leg; neighbouring decoded legs become one.
void add_leg(std::vector<Leg>& legs, Leg leg);

}  // namespace longhaul::serve
