#pragma once
// Records how the tokens of a sequence were computed: which of them by which prefill, and which by
// decoding. Two sequences with the same tokens are bitwise equal only if their tokens were computed
// in the same way.

#include <cstdint>
#include <span>
#include <vector>

namespace longhaul::serve {

/// A range of tokens that was computed by one prefill, or by consecutive decode steps. The range
/// begins where the previous leg ends.
struct Leg {
  int64_t end = 0;  ///< number of tokens of the sequence up to the end of the range
  bool decoded = false;
  bool operator==(const Leg&) const = default;
};

/// Returns `legs`, shortened to the first `tokens` tokens of the sequence.
std::vector<Leg> first_legs(std::span<const Leg> legs, int64_t tokens);
/// Returns the number of tokens before the first decoded one.
int64_t prefilled_tokens(std::span<const Leg> legs);
/// Appends a leg. If the last leg and the new one are both decoded, they are merged.
void add_leg(std::vector<Leg>& legs, Leg leg);

}  // namespace longhaul::serve
