#pragma once
// A prompt that an attention method reads as in a session, with every layer's visible rows and the
// attention output of some rows.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attention/method_spec.h"
#include "model/decoder.h"
#include "ops/attention/visible_keys.h"

namespace longhaul::testing_support {

using Tokens = std::vector<int64_t>;

/// A row's attention per layer, in the last pass that read the row.
struct ObservedRow {
  std::vector<std::vector<float>> output;  ///< [layer][heads * head_dim]
  std::vector<std::vector<Tokens>> seen;   ///< [layer][query head]: tokens, ascending
};

/// An attention method that records which stored rows every layer of a pass saw by index (equal for
/// all heads), and all data of the rows at some positions.
class Observed final : public Method {
 public:
  std::vector<Tokens> selected;         ///< [layer], for the last pass
  std::map<int64_t, ObservedRow> rows;  ///< by position

  Observed(std::unique_ptr<Method> method, const ModelShape& shape, const Tokens& positions)
      : selected(static_cast<size_t>(shape.layers)), method_(std::move(method)) {
    whole = method_->whole;
    ObservedRow row;
    row.output.resize(selected.size());
    row.seen.assign(selected.size(), std::vector<Tokens>(static_cast<size_t>(shape.heads)));
    for (const int64_t position : positions) rows[position] = row;
  }

  ListPlan plan(int layer, int kv_head, int64_t tokens) const override {
    return method_->plan(layer, kv_head, tokens);
  }
  std::vector<Pass> passes(const PromptFacts& prompt) override { return method_->passes(prompt); }
  void observe(LayerStep& step) override { method_->observe(step); }
  void choose(const Eviction& due) override { method_->choose(due); }
  void attend(LayerStep& step) override {
    const size_t layer = static_cast<size_t>(step.layer);
    if (step.all != nullptr) begin_notes(*step.all);
    if (!whole.begins_together) begin_notes(step);
    method_->attend(step);
    const int64_t width = int64_t{step.shape->heads} * step.shape->head_dim;
    for (auto& [position, row] : rows) {
      if (!reads(step, position)) continue;
      const auto out = host(step.out.part((position - step.begin) * width, width));
      row.output[layer].assign(out.begin(), out.end());
    }
  }

 private:
  /// Records the step's rows in its layer.
  void begin_notes(LayerStep& step) {
    step.record->observer = [this](const LayerStep& seen, std::span<const AttendTask> tasks) {
      note_selected(selected[static_cast<size_t>(seen.layer)], tasks);
      for (auto& [position, row] : rows) {
        if (reads(seen, position)) note_seen(row, seen, tasks, position);
      }
    };
    for (auto& [position, row] : rows) {
      if (!reads(step, position)) continue;
      for (Tokens& tokens : row.seen[static_cast<size_t>(step.layer)]) tokens.clear();
    }
  }

  static bool reads(const LayerStep& step, int64_t position) {
    return position >= step.begin && position < step.begin + step.rows;
  }

  static void note_selected(Tokens& list, std::span<const AttendTask> tasks) {
    for (const AttendTask& task : tasks) {
      Tokens mine;
      for (const KeySegment& segment : task.segments) {
        if (segment.index.empty()) continue;
        const auto index = host(segment.index).first(static_cast<size_t>(segment.count));
        mine.assign(index.begin(), index.end());
      }
      if (&task == &tasks.front()) {
        list = mine;
      } else {
        EXPECT_EQ(mine, list);
      }
    }
  }

  static void note_seen(ObservedRow& into, const LayerStep& step, std::span<const AttendTask> tasks,
                        int64_t position) {
    const int64_t row = position - step.begin;
    for (const AttendTask& task : tasks) {
      if (row < task.row_begin || row >= task.row_begin + task.row_count) continue;
      for (int head = task.head_begin; head < task.head_begin + task.head_count; ++head) {
        Tokens& seen = into.seen[static_cast<size_t>(step.layer)][static_cast<size_t>(head)];
        for (const KeySegment& segment : task.segments) {
          const KeyRange keys = visible_keys(segment, task.row_position + row - task.row_begin);
          for (int64_t i = keys.begin; i < keys.end; ++i) {
            seen.push_back(
                step.store->token_of(step.layer, head / step.group(), row_of(segment, i)));
          }
        }
        std::ranges::sort(seen);
      }
    }
  }

  std::unique_ptr<Method> method_;
};

/// The passes of a session's prompt and generated tokens. Compute and KV store are f32.
class Reading {
 public:
  Observed& method;
  std::vector<float> logits;  ///< [vocab] after the last token read

  Reading(const Model& model, const MethodSpec& spec, const Tokens& positions)
      : Reading(std::make_unique<Observed>(spec.make_method(model.shape), model.shape, positions),
                model) {}

  /// Calls after(pass) after every pass.
  template <class After>
  void prompt(std::span<const int32_t> tokens, int64_t instruction, int chunk, After&& after) {
    const auto count = static_cast<int64_t>(tokens.size());
    set_context_length(model_, count, shape_);
    const std::vector<Pass> passes = driver_.prepare({0, count, instruction, chunk});
    for (int i = 1; i < driver_.streams(); ++i) streams_.push_back(streams_.front().fork());
    for (const Pass& pass : passes) {
      forward(ForwardPass::of(tokens, 0, pass));
      after(pass);
    }
  }

  void decode(int32_t token, int64_t position) {
    forward({{&token, 1}, position, {.count = 1, .phase = Phase::kDecode}});
  }

 private:
  Reading(std::unique_ptr<Observed> observed, const Model& model)
      : method(*observed),
        logits(static_cast<size_t>(model.config.vocab)),
        model_(model),
        driver_(std::move(observed), model.shape),
        decoder_(model, Compute::kF32) {
    streams_.emplace_back(driver_.layout(model.shape, DType::F32));
  }

  void forward(const ForwardPass& one) {
    const float* hidden = decoder_.forward({{&one, 1}, streams_, &driver_, &shape_, &record_});
    decoder_.logits(hidden + (one.rows() - 1) * model_.config.hidden, 1, logits.data());
    driver_.finish(streams_, one.pass);
  }

  const Model& model_;
  AttentionDriver driver_;
  Decoder decoder_;
  ModelShape shape_ = model_.shape;
  AttentionRecord record_;
  std::vector<KvStore> streams_;
};

}  // namespace longhaul::testing_support
