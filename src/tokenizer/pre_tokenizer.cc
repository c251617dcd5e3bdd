#include "tokenizer/pre_tokenizer.h"

#include "base/cpu_limit.h"
#include "base/error.h"
#include "text/utf8.h"

namespace longhaul {

namespace {

struct Stretch {
  size_t begin, end;
  bool matched;
};

/// Divides the piece into matched and unmatched ranges, without gaps.
std::vector<Stretch> stretches(const Split& split, std::string_view piece) {
  std::vector<Stretch> out;
  size_t done = 0, from = 0;
  while (from < piece.size()) {
    CpuLimit::check();
    const std::optional<RegexMatch> match = split.pattern.find(piece, from);
    if (!match || match->begin >= piece.size()) break;
    // an empty match does not split; continue after one character
    if (match->end == match->begin) {
      from = match->begin + read_utf8(piece.substr(match->begin)).bytes;
      continue;
    }
    if (match->begin > done) out.push_back({done, match->begin, split.invert});
    out.push_back({match->begin, match->end, !split.invert});
    LH_ASSERT(match->end > from);  // guarantees progress
    done = from = match->end;
  }
  if (done < piece.size()) out.push_back({done, piece.size(), split.invert});
  return out;
}

/// Joins or drops ranges according to the behaviour, in place.
void apply(SplitBehaviour behaviour, std::vector<Stretch>& list) {
  std::vector<Stretch> out;
  for (const Stretch& stretch : list) {
    const bool join =
        !out.empty() &&
        ((behaviour == SplitBehaviour::contiguous && out.back().matched == stretch.matched) ||
         (behaviour == SplitBehaviour::merged_with_previous && stretch.matched &&
          !out.back().matched) ||
         (behaviour == SplitBehaviour::merged_with_next && out.back().matched && !stretch.matched));
    if (join) {
      // A joined range takes no part in further joins of its kind.
      out.back().end = stretch.end;
      if (behaviour != SplitBehaviour::contiguous) {
        out.back().matched = behaviour == SplitBehaviour::merged_with_previous;
      }
    } else if (!(behaviour == SplitBehaviour::removed && stretch.matched)) {
      out.push_back(stretch);
    }
  }
  list.swap(out);
}

void cut_piece_before_blanks(std::string_view piece, std::vector<std::string_view>& out) {
  size_t begin = 0;
  for (size_t at = 1; at < piece.size(); ++at) {
    if (piece[at] == ' ' && piece[at - 1] != ' ') {
      out.push_back(piece.substr(begin, at - begin));
      begin = at;
    }
  }
  if (begin < piece.size()) out.push_back(piece.substr(begin));
}

}  // namespace

std::vector<std::string_view> PreTokenizer::split(std::string_view text) const {
  std::vector<std::string_view> pieces;
  if (!text.empty()) pieces.push_back(text);
  std::vector<std::string_view> next;
  for (const Split& split : splits_) {
    next.clear();
    for (const std::string_view piece : pieces) {
      std::vector<Stretch> list = stretches(split, piece);
      if (split.behaviour != SplitBehaviour::isolated) apply(split.behaviour, list);
      for (const Stretch& s : list) next.push_back(piece.substr(s.begin, s.end - s.begin));
    }
    pieces.swap(next);
  }
  if (cut_before_blanks_) {
    next.clear();
    for (const std::string_view piece : pieces) cut_piece_before_blanks(piece, next);
    pieces.swap(next);
  }
  return pieces;
}

}  // namespace longhaul
