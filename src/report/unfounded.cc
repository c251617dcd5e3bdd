#include "report/unfounded.h"

#include <fmt/format.h>

#include <algorithm>

namespace longhaul {
namespace {

struct SharedScore {
  double share = 0;
  bool right = false;
};

UnfoundedReplies best_separation(size_t series, std::vector<SharedScore> replies) {
  UnfoundedReplies best{series};
  for (const SharedScore& reply : replies) (reply.right ? best.right : best.wrong) += 1;
  std::ranges::sort(replies, {}, &SharedScore::share);
  const auto part = [](int64_t count, int64_t of) {
    return of > 0 ? static_cast<double>(count) / static_cast<double>(of) : 0.0;
  };
  double most = 0;
  int64_t found = 0, false_alarms = 0;
  for (size_t i = 0; i < replies.size(); ++i) {
    (replies[i].right ? false_alarms : found) += 1;
    const bool tied = i + 1 < replies.size() && replies[i + 1].share == replies[i].share;
    const double gain = part(found, best.wrong) - part(false_alarms, best.right);
    if (tied || gain <= most) continue;
    most = gain;
    best.found = found;
    best.false_alarms = false_alarms;
    const double next = i + 1 < replies.size() ? replies[i + 1].share : 1;
    best.least_share = (replies[i].share + next) / 2;
  }
  return best;
}

}  // namespace

double UnfoundedReplies::precision() const {
  const int64_t warnings = found + false_alarms;
  return warnings > 0 ? static_cast<double>(found) / static_cast<double>(warnings) : 0;
}

double UnfoundedReplies::recall() const {
  return wrong > 0 ? static_cast<double>(found) / static_cast<double>(wrong) : 0;
}

std::string separation_text(const UnfoundedReplies& replies) {
  if (replies.right == 0 || replies.wrong == 0) {
    return fmt::format("all {} replies are {}, so no share of the first passage separates them",
                       replies.right + replies.wrong, replies.wrong == 0 ? "right" : "wrong");
  }
  if (replies.found == 0) return "the share of the first passage does not separate the replies";
  return fmt::format(
      "a first passage with less than {:.0f} % of the attention finds {} of {} wrong replies; "
      "{:.0f} % of such warnings are true",
      100 * replies.least_share, replies.found, replies.wrong, 100 * replies.precision());
}

std::vector<UnfoundedReplies> unfounded_replies(const Results& results) {
  std::vector<UnfoundedReplies> all;
  for (size_t series = 0; series < results.series().size(); ++series) {
    if (results.series()[series].control) continue;
    std::vector<SharedScore> replies;
    for (const auto& [key, cell] : results.cells()) {
      if (key.series != series) continue;
      for (const Record* record : cell.records) {
        if (record->source_share) replies.push_back({*record->source_share, record->score >= 0.5});
      }
    }
    if (!replies.empty()) all.push_back(best_separation(series, std::move(replies)));
  }
  return all;
}

}  // namespace longhaul
