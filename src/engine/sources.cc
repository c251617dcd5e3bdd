#include "engine/sources.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "attention/profile.h"
#include "base/error.h"
#include "base/parse_number.h"
#include "ops/attention/visible_keys.h"

namespace longhaul {
namespace {

/// Parses "5.0:0.77/8.4:0.78": LAYER.HEAD:WEIGHT. Another form gives none; the method ltri reports
/// the error.
std::vector<ObservedHead> heads_of(std::string_view text, const ModelShape& shape) {
  std::vector<ObservedHead> heads;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find('/'));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    const size_t dot = item.find('.'), colon = std::min(item.find(':'), item.size());
    if (dot == std::string_view::npos || dot > colon) return {};
    ObservedHead head;
    const bool plain = colon == item.size();
    if (!parse_number(item.substr(0, dot), head.layer) ||
        !parse_number(item.substr(dot + 1, colon - dot - 1), head.head) ||
        (!plain && !parse_number(item.substr(colon + 1), head.weight))) {
      return {};
    }
    if (head.layer < 0 || head.layer >= shape.layers || head.head < 0 || head.head >= shape.heads) {
      return {};
    }
    heads.push_back(head);
  }
  return heads;
}

}  // namespace

std::vector<ObservedHead> heads_to_watch(const ModelShape& shape) {
  const auto profile = read_profile(shape.profile_prefix, "ltri");
  if (const auto known = profile.find("heads"); known != profile.end()) {
    std::vector<ObservedHead> heads = heads_of(known->second.text, shape);
    if (!heads.empty()) return heads;
  }
  constexpr int kLayers = 4;  // more layers would cost more than a tenth of decoding
  std::vector<ObservedHead> heads;
  for (int i = 0; i < kLayers; ++i) {
    const int layer = shape.layers / 2 + i * (shape.layers - shape.layers / 2) / kLayers;
    if (!heads.empty() && heads.back().layer == layer) continue;
    for (int head = 0; head < shape.heads; ++head) heads.push_back({layer, head, 1});
  }
  return heads;
}

double least_share_of_first_passage(const ModelShape& shape) {
  // The value lies between wrong replies (8 to 36 % in a first trial with smollm2-32k) and right
  // ones (42 to 77 %).
  constexpr double kUsual = 0.39;
  const auto profile = read_profile(shape.profile_prefix, "sources");
  const auto known = profile.find("rests_at");
  double share = 0;
  const bool given = known != profile.end() && parse_number(known->second.text, share);
  return given && share >= 0 && share <= 1 ? share : kUsual;
}

SourceWatch::SourceWatch(const ModelShape& shape, std::vector<ObservedHead> heads,
                         int64_t prompt_tokens)
    : heads_(std::move(heads)),
      prompt_tokens_(prompt_tokens),
      keys_(static_cast<size_t>(shape.heads) * kMostTopKeys),
      scores_(keys_.size()) {}

void SourceWatch::observe(const LayerStep& step, std::span<const AttendTask> tasks) {
  if (!step.decoding() || step.begin < prompt_tokens_) return;
  looked_at_.resize(static_cast<size_t>(step.begin - prompt_tokens_) + 2);
  for (const AttendTask& task : tasks) {
    for (const KeySegment& segment : task.segments) add_look(step, task, segment);
  }
  look(step);
}

void SourceWatch::add_look(const LayerStep& step, const AttendTask& task,
                           const KeySegment& segment) {
  int first = step.shape->heads, last = -1;
  for (const ObservedHead& head : heads_) {
    const bool holds = head.layer == step.layer && head.head >= task.head_begin &&
                       head.head < task.head_begin + task.head_count;
    if (!holds) continue;
    first = std::min(first, head.head);
    last = std::max(last, head.head);
  }
  if (last < first) return;
  const std::optional<int> list = step.list_of(segment.rows);
  if (!list || segment.rotate || !segment.index.empty() || segment.query != 0) return;
  const KeyRange seen = visible_keys(segment, task.row_position);
  if (seen.begin >= seen.end) return;
  if (!looks_.empty() && first < looks_.back().keys.head_begin + looks_.back().keys.head_count) {
    look(step);  // more keys of heads that are in looks_ already
  }
  Look more;
  more.keys.head_begin = first;
  more.keys.head_count = last - first + 1;
  more.keys.row_count = 1;
  more.keys.keys = segment.rows;
  more.keys.begin = segment.begin + seen.begin;
  more.keys.count = seen.end - seen.begin;
  more.list = *list;
  looks_.push_back(more);
}

void SourceWatch::look(const LayerStep& step) {
  if (looks_.empty()) return;
  const Rotations& rotations = step.rotations(step.begin, 1);
  TopKeysCall call;
  call.queue = step.queue;
  call.queries = step.queries_from(rotations, step.begin, rotated_);
  call.heads = step.shape->heads;
  call.head_dim = step.head_dim();
  call.k = kMostTopKeys;
  call.keys = std::span(keys_);
  call.scores = std::span(scores_);
  std::vector<TopKeysTask> tasks;
  for (const Look& look : looks_) tasks.push_back(look.keys);
  top_keys(call, tasks);
  for (const ObservedHead& head : heads_) {
    const auto seen_by = std::ranges::find_if(looks_, [&](const Look& look) {
      return head.layer == step.layer && head.head >= look.keys.head_begin &&
             head.head < look.keys.head_begin + look.keys.head_count;
    });
    if (seen_by == looks_.end()) continue;
    const auto at = static_cast<size_t>(head.head) * kMostTopKeys;
    double total = 0;
    float shares[kMostTopKeys] = {};
    for (size_t i = 0; i < kMostTopKeys && keys_[at + i] >= 0; ++i) {
      shares[i] = std::exp(step.shape->scale * (scores_[at + i] - scores_[at]));
      total += shares[i];
    }
    for (size_t i = 0; i < kMostTopKeys && keys_[at + i] >= 0; ++i) {
      const int64_t token =
          step.store->token_of(step.layer, seen_by->list, seen_by->keys.begin + keys_[at + i]);
      if (token >= prompt_tokens_) continue;
      saw_anything_ = true;
      looked_at_.back().push_back({token, head.weight * shares[i] / static_cast<float>(total)});
    }
  }
  looks_.clear();
}

std::span<const LookedAt> SourceWatch::of(size_t index) const {
  if (index >= looked_at_.size()) return {};
  return looked_at_[index];
}

}  // namespace longhaul
