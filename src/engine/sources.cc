#include "engine/sources.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>

#include "attention/profile.h"
#include "base/error.h"
#include "base/host_stage.h"
#include "base/parse_number.h"
#include "ops/attention/visible_keys.h"

namespace longhaul {
namespace {

/// Parses a list such as "5.0:0.77/8.4:0.78" (LAYER.HEAD:WEIGHT/...). Returns no heads if the text
/// is invalid; the method ltri reports the error.
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
  constexpr int kLayers = 4;  // with more layers, decoding would be more than 10 % slower
  std::vector<ObservedHead> heads;
  for (int i = 0; i < kLayers; ++i) {
    const int layer = shape.layers / 2 + i * (shape.layers - shape.layers / 2) / kLayers;
    if (!heads.empty() && heads.back().layer == layer) continue;
    for (int head = 0; head < shape.heads; ++head) heads.push_back({layer, head, 1});
  }
  return heads;
}

double least_share_of_first_passage(const ModelShape& shape) {
  // The threshold separates wrong replies (shares of 8 to 36 % in a first experiment with
  // smollm2-32k) from correct ones (42 to 77 %).
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
  if (step.begin != row_ || step.layer != layer_) {
    row_ = step.begin;
    layer_ = step.layer;
    counted_ = looked_at_.back().size();
    candidates_.clear();
  }
  for (const AttendTask& task : tasks) {
    for (const KeySegment& segment : task.segments) add_looks(step, task, segment);
  }
  look(step);
  count(step);
}

void SourceWatch::add_looks(const LayerStep& step, const AttendTask& task, KeySegment segment) {
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
  if (!list || segment.whole_pages || !segment.masks.empty()) return;
  HostStage stage(*step.queue);
  segment.index = stage(segment.index);
  segment.device_count = stage(segment.device_count);
  segment.count_after = stage(segment.count_after);
  resolve_counts({&segment, 1});
  const KeyRange seen = visible_keys(segment, task.row_position);
  Look more;
  more.keys.head_begin = first;
  more.keys.head_count = last - first + 1;
  more.keys.row_count = 1;
  more.keys.keys = segment.rows;
  more.list = *list;
  for (int64_t i = seen.begin; i < seen.end; i += more.keys.count) {
    more.keys.begin = row_of(segment, i);
    more.keys.count = segment.index.empty() ? seen.end - i : 1;
    while (i + more.keys.count < seen.end &&
           row_of(segment, i + more.keys.count) == more.keys.begin + more.keys.count) {
      ++more.keys.count;
    }
    add_look(step, more);
  }
}

void SourceWatch::add_look(const LayerStep& step, const Look& more) {
  if (!looks_.empty() &&
      more.keys.head_begin < looks_.back().keys.head_begin + looks_.back().keys.head_count) {
    look(step);  // looks_ already contains keys of these heads
  }
  looks_.push_back(more);
}

void SourceWatch::look(const LayerStep& step) {
  if (looks_.empty()) return;
  const bool raw = step.method != nullptr && step.method->place != KeyPlace::kAbsolute;
  without_positions_ = raw;
  TopKeysCall call;
  call.queue = step.queue;
  call.queries =
      raw ? step.q : step.queries_from(step.rotations(step.begin, 1), step.begin, rotated_);
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
    for (size_t i = at; i < at + kMostTopKeys && keys_[i] >= 0; ++i) {
      const int64_t row = seen_by->keys.begin + keys_[i];
      candidates_.push_back(
          {head.head, step.store->token_of(step.layer, seen_by->list, row), scores_[i]});
    }
  }
  looks_.clear();
}

void SourceWatch::count(const LayerStep& step) {
  std::vector<LookedAt>& tokens = looked_at_.back();
  tokens.resize(counted_);
  for (const ObservedHead& head : heads_) {
    if (head.layer != step.layer) continue;
    std::vector<Candidate> best;
    std::ranges::copy_if(candidates_, std::back_inserter(best),
                         [&](const Candidate& c) { return c.head == head.head; });
    std::ranges::stable_sort(best, std::greater(), &Candidate::score);
    best.resize(std::min<size_t>(best.size(), kMostTopKeys));
    const auto mass = [&](const Candidate& c) {
      return std::exp(step.shape->scale * (c.score - best.front().score));
    };
    float total = 0;
    for (const Candidate& c : best) total += mass(c);
    for (const Candidate& c : best) {
      if (c.token >= prompt_tokens_) continue;
      saw_anything_ = true;
      tokens.push_back({c.token, head.weight * mass(c) / total});
    }
  }
}

std::span<const LookedAt> SourceWatch::of(size_t index) const {
  if (index >= looked_at_.size()) return {};
  return looked_at_[index];
}

}  // namespace longhaul
