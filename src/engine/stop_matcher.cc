#include "engine/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace longhaul {
namespace {

/// Returns the length of the longest suffix of `text` that is a prefix of `stop` and shorter than
/// it.
size_t begun(std::string_view text, std::string_view stop) {
  for (size_t n = std::min(text.size(), stop.size() - 1); n > 0; --n) {
    if (text.substr(text.size() - n) == stop.substr(0, n)) return n;
  }
  return 0;
}

}  // namespace

StopMatcher::StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase_if(stops_, [](const std::string& s) { return s.empty(); });
}

std::string StopMatcher::push(std::string_view text) {
  if (stopped_) return {};
  held_ += text;
  size_t found = std::string::npos;
  for (const std::string& stop : stops_) {
    const size_t at = held_.find(stop);
    if (at >= found) continue;
    found = at;
    matched_ = stop;
  }
  if (found != std::string::npos) {
    stopped_ = true;
    std::string shown = held_.substr(0, found);
    held_.clear();
    return shown;
  }
  size_t keep = 0;
  for (const std::string& stop : stops_) keep = std::max(keep, begun(held_, stop));
  std::string shown = held_.substr(0, held_.size() - keep);
  held_.erase(0, held_.size() - keep);
  return shown;
}

std::string StopMatcher::flush() { return std::exchange(held_, {}); }

}  // namespace longhaul
