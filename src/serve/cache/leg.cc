#include "serve/cache/leg.h"

#include <algorithm>

namespace longhaul::serve {

std::vector<Leg> first_legs(std::span<const Leg> legs, int64_t tokens) {
  std::vector<Leg> first;
  int64_t begin = 0;
  for (const Leg& leg : legs) {
    if (begin >= tokens) break;
    first.push_back({std::min(leg.end, tokens), leg.decoded});
    begin = leg.end;
  }
  return first;
}

int64_t prefilled_tokens(std::span<const Leg> legs) {
  int64_t tokens = 0;
  for (const Leg& leg : legs) {
    if (leg.decoded) break;
    tokens = leg.end;
  }
  return tokens;
}

void add_leg(std::vector<Leg>& legs, Leg leg) {
  const int64_t end = legs.empty() ? 0 : legs.back().end;
  if (leg.end <= end) return;
  if (!legs.empty() && leg.decoded && legs.back().decoded) {
    legs.back().end = leg.end;
  } else {
    legs.push_back(leg);
  }
}

}  // namespace longhaul::serve
