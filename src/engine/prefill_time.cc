#include "engine/prefill_time.h"

#include <algorithm>

namespace longhaul {

void PrefillTime::add(int64_t begin, int64_t count, double share, double seconds,
                      double attention) {
  if (begin != begin_) {
    begin_ = begin;
    attention_before_ = attention_;
    seconds_before_ = seconds_;
    passes_.emplace_back();
  }
  Pass& pass = passes_.back();
  pass.tokens = share * static_cast<double>(count);
  pass.keys = pass.tokens * (static_cast<double>(depth_ + begin) + static_cast<double>(count) / 2);
  pass.seen = share * seen_by(static_cast<double>(begin), static_cast<double>(begin + count));
  pass.attention = attention - attention_before_;
  pass.rest = std::max(0.0, seconds - seconds_before_ - pass.attention);
  tokens_ = static_cast<double>(begin) + pass.tokens;
  seconds_ = seconds;
  attention_ = attention;
}

/// Fits each * tokens + per_key * keys to the attention times of the later half of the passes, by
/// least squares. For a method whose rows see only a window, per_key is about 0. With too few
/// passes, the whole time is attributed to keys, and a token costs as much as a tile of keys,
/// because kernels compute whole tiles.
PrefillTime::Line PrefillTime::attention_line() const {
  constexpr size_t kTelling = 4;
  constexpr double kTile = 64;  // keys
  double tt = 0, tk = 0, kk = 0, ta = 0, ka = 0, tokens = 0, seen = 0, attention = 0;
  const size_t from = passes_.size() >= 2 * kTelling ? passes_.size() / 2 : 0;
  for (size_t i = from; i < passes_.size(); ++i) {
    const Pass& p = passes_[i];
    if (p.tokens <= 0) continue;
    // The weight of a pass is the inverse of its number of tokens, because the error of its time
    // grows with this number.
    const double weight = 1 / p.tokens;
    tt += weight * p.tokens * p.tokens;
    tk += weight * p.tokens * p.keys;
    kk += weight * p.keys * p.keys;
    ta += weight * p.tokens * p.attention;
    ka += weight * p.keys * p.attention;
    tokens += p.tokens;
    seen += p.seen;
    attention += p.attention;
  }
  const double per_key = seen > 0 ? attention / (seen + kTile * tokens) : 0;
  const Line by_key = {kTile * per_key, per_key, true};
  const double determinant = tt * kk - tk * tk;
  if (passes_.size() < kTelling || determinant <= 1e-9 * tt * kk) return by_key;
  const Line line = {(ta * kk - ka * tk) / determinant, (tt * ka - tk * ta) / determinant};
  if (line.each < 0) return by_key;
  if (line.per_key < 0) return {attention / tokens, 0};
  return line;
}

/// Returns the seconds per token outside attention, averaged over the later half of the passes. The
/// first pass is omitted if possible, because it also allocates memory.
double PrefillTime::rest_of_a_token() const {
  double seconds = 0, tokens = 0;
  for (size_t i = (passes_.size() - 1) / 2; i < passes_.size(); ++i) {
    seconds += passes_[i].rest;
    tokens += passes_[i].tokens;
  }
  return seconds / tokens;
}

double PrefillTime::left(int64_t total) const {
  const auto all = static_cast<double>(total);
  if (tokens_ <= 0 || tokens_ >= all) return 0;
  const double more = all - tokens_;
  const Line line = attention_line();
  const double keys = line.within_reach
                          ? seen_by(tokens_, all)
                          : more * (static_cast<double>(depth_) + (all + tokens_) / 2);
  return more * (rest_of_a_token() + line.each) + keys * line.per_key;
}

double PrefillTime::seen_by(double begin, double end) const {
  const auto depth = static_cast<double>(depth_), reach = static_cast<double>(reach_);
  const double from = depth + begin, to = depth + end;
  const double full = std::clamp(reach, from, to);  // tokens before it see all earlier ones
  return (full * full - from * from) / 2 + (to - full) * reach;
}

double PrefillTime::reading(int64_t total, int64_t reach) const {
  if (tokens_ <= 0) return 0;
  const auto all = static_cast<double>(total);
  const auto seen = static_cast<double>(std::min(reach, total));
  const Line line = attention_line();
  return all * (rest_of_a_token() + line.each) + (all * seen - seen * seen / 2) * line.per_key;
}

}  // namespace longhaul
