// H2O (Zhang et al. 2023): every key sums up the attention that all queries pay it; the keys with
// the largest sums stay, with the most recent ones. `stream` forgets while a prompt is read, so
// that memory stays bounded; `oneshot` reads it whole and then chooses. Each KV head chooses for
// itself.

#include <algorithm>

#include "attention/kept_rows.h"
#include "attention/prompt_compression.h"
#include "attention/registry.h"
#include "attention/stride_passes.h"
#include "base/byte_stream.h"
#include "base/error.h"
#include "ops/column_sums.h"

namespace longhaul {
namespace {

struct H2oOptions {
  bool stream = true;
  int64_t budget = 0, stride = 0, sink = 0, recent = 0;
};

class H2o final : public AttentionMethod {
 public:
  H2o(const H2oOptions& options, const ModelShape& shape) : o_(options), shape_(shape) {}

  std::vector<Pass> prepare(const PromptFacts& prompt) override {
    reading_ = true;
    if (!o_.stream) return AttentionMethod::prepare(prompt);
    // A list is cut to `target_` rows after every stride: the largest size up to budget + stride
    // from which whole strides end with the prompt.
    const int64_t total = held_ + prompt.tokens, most = o_.budget + o_.stride;
    target_ = total <= most ? total : most - (o_.stride - (total - most) % o_.stride) % o_.stride;
    const int64_t lead = target_ - o_.stride - held_;
    return passes_.plan(prompt, lead >= 0 ? lead : prompt.tokens % o_.stride, o_.stride);
  }

  void attend(LayerStep& step) override {
    if (step.decoding) reading_ = false;
    lse_.resize(static_cast<size_t>(step.rows * shape_.heads));
    step.lse = lse_.data();
    attend_kept_rows(step, segments_);
    if (shape_.window[static_cast<size_t>(step.layer)] > 0) return;
    held_ = step.store->length(step.layer, 0);
    if (reading_ && (!o_.stream || held_ > target_)) count(step);
  }

  void retain(KvStore& store, const Pass& pass, bool last_of_prompt) override {
    // Prompts shorter than a stride end none; they must not add up.
    const bool overfull = last_of_prompt && held_ > o_.budget + o_.stride;
    const bool due = o_.stream ? passes_.ends_stride(pass) || overfull : last_of_prompt;
    const int64_t budget = o_.stream ? target_ : o_.budget;
    if (reading_ && due && held_ > budget) {
      for (int layer = 0; layer < shape_.layers; ++layer) {
        if (shape_.window[static_cast<size_t>(layer)] == 0) forget(store, layer, budget);
      }
      held_ = budget;
    }
    if (last_of_prompt) reading_ = false;
  }

  bool can_rewind() const override { return false; }  // sums hold what later queries paid
  void save(ByteWriter& out) const override { out.number<int64_t>(held_); }
  void restore(ByteReader& in) override { held_ = in.number<int64_t>(); }

 private:
  /// Adds the step's attention to the sums of all keys.
  void count(LayerStep& step) {
    const float* queries[] = {step.rotated_q()};
    AttendCall call;
    call.queries = queries;
    call.heads = shape_.heads;
    call.head_dim = shape_.head_dim;
    call.scale = shape_.scale;
    call.compute = step.compute;
    call.lse = lse_.data();
    std::vector<AttendTask> tasks;
    std::vector<ColumnTarget> targets;
    for (int head = 0; head < step.kv_heads; ++head) {
      tasks.push_back({head * step.group(),
                       step.group(),
                       0,
                       step.rows,
                       step.begin,
                       {&segments_[static_cast<size_t>(head)], 1}});
      targets.push_back({step.store->column(step.layer, head, "attention").data()});
    }
    column_sums(call, tasks, targets);
  }

  void forget(KvStore& store, int layer, int64_t budget) const {
    for (int head = 0; head < shape_.kv_heads[static_cast<size_t>(layer)]; ++head) {
      const std::span<const float> sums = store.column(layer, head, "attention");
      std::vector<int32_t> kept;
      for (int64_t row = 0; row < o_.sink; ++row) kept.push_back(static_cast<int32_t>(row));
      for (const int32_t row : compressed_rows(sums.subspan(static_cast<size_t>(o_.sink)),
                                               budget - o_.sink, o_.recent, 1, Pooling::kMax)) {
        kept.push_back(row + static_cast<int32_t>(o_.sink));
      }
      store.keep(layer, head, kept);
    }
  }

  H2oOptions o_;
  ModelShape shape_;
  StridePasses passes_;
  int64_t target_ = 0;  ///< rows of a list after a cut
  int64_t held_ = 0;    ///< rows of a list now
  bool reading_ = false;
  std::vector<float> lse_;  ///< [rows, heads] of the step
  std::vector<KeySegment> segments_;
};

constexpr OptionInfo kOptions[] = {
    {"mode", OptionKind::kChoice, "stream", "", 0, 0, "stream|oneshot",
     "forget while the prompt is read, or once it has been read"},
    {"budget", OptionKind::kInteger, "2048", "tokens", 1, 1 << 24, "", "rows that a head keeps"},
    {"stride", OptionKind::kInteger, "256", "tokens", 1, 1 << 20, "",
     "stream: prompt tokens between two cuts; a head keeps up to budget + stride"},
    {"sink", OptionKind::kInteger, "4", "tokens", 0, 4096, "",
     "stream: first rows that never leave"},
    {"recent", OptionKind::kInteger, "0", "tokens", 0, 1 << 20, "",
     "last rows that never leave; 0: a tenth of budget + stride (stream), 32 (oneshot)"},
};

std::unique_ptr<AttentionMethod> make(const MethodOptions& options, const ModelShape& shape) {
  H2oOptions o;
  o.stream = options.text("mode") == "stream";
  o.budget = options.integer("budget");
  o.stride = options.integer("stride");
  o.sink = o.stream ? options.integer("sink") : 0;
  o.recent = options.integer("recent");
  if (o.recent == 0) o.recent = o.stream ? (o.budget + o.stride) / 10 : 32;
  if (o.budget < o.sink + o.recent) {
    user_error("--attention h2o: budget={}: must be at least sink + recent = {} + {}", o.budget,
               o.sink, o.recent);
  }
  return std::make_unique<H2o>(o, shape);
}

}  // namespace

MethodInfo h2o_method() {
  MethodInfo info;
  info.name = "h2o";
  info.summary =
      "keeps the keys to which all queries together paid most attention, and recent ones";
  info.when = "long prompts in constant memory, where what matters is looked at all along";
  info.keeps =
      "the rows that got most attention from all queries so far, and recent ones; the rest is gone "
      "for good";
  info.harms =
      "a fact that is mentioned once and asked for at the end: by then its sum is small. Counting "
      "costs a second pass over the keys";
  info.paper =
      "H2O: Heavy-Hitter Oracle for Efficient Generative Inference of LLMs, "
      "arXiv 2306.14048";
  info.options = kOptions;
  info.make = make;
  return info;
}

}  // namespace longhaul
