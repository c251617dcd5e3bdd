// TOVA (Oren et al. 2024): a layer holds a fixed number of tokens; those to which the newest query
// pays least attention, on average over its heads, leave. All heads of a layer keep the same
// tokens; nothing is protected, the newest token and the first ones neither. `easykv` is the form
// of another published code: while a prompt is read only, with sinks and recent tokens protected.

#include <algorithm>
#include <functional>

#include "attention/kept_rows.h"
#include "attention/observed_rows.h"
#include "attention/registry.h"
#include "attention/restored_lists.h"
#include "attention/stride_eviction.h"
#include "attention/stride_passes.h"
#include "attention/top_and_ends.h"
#include "base/byte_stream.h"
#include "ops/ranking.h"

namespace longhaul {
namespace {

class Tova final : public AttentionMethod {
 public:
  Tova(int64_t capacity, int64_t stride, const ModelShape& shape)
      : capacity_(capacity), stride_(stride), shape_(shape), newest_(shape_, 1) {}

  std::vector<Pass> prepare(const PromptFacts& prompt) override {
    return passes_.plan(prompt, 0, stride_);
  }

  void attend(LayerStep& step) override {
    decoding_ = step.decoding;
    lse_.resize(static_cast<size_t>(step.rows * shape_.heads));
    step.lse = lse_.data();
    attend_kept_rows(step, segments_);
    newest_.add(step, lse_.data());
  }

  void retain(KvStore& store, const Pass& pass, bool last_of_prompt) override {
    if (!decoding_ && !last_of_prompt && !passes_.ends_stride(pass)) return;
    for (int layer = 0; layer < shape_.layers; ++layer) {
      if (shape_.own_window(layer) == 0) forget(store, layer);
    }
  }

  int numbers_per_row() const override { return 1; }  // its token
  PromptChoice prompt_choice() const override { return PromptChoice::kByLastRow; }
  size_t most_kv_bytes(const KvLayout& layout, int64_t tokens, int) const override {
    for (const int64_t window : shape_.window) {
      if (window > 0) return layout.bytes_for(tokens);
    }
    return layout.bytes_for(std::min(tokens, capacity_ + stride_));
  }

  bool can_rewind() const override { return !forgot_; }
  void save(ByteWriter& out) const override { out.number<uint8_t>(forgot_ ? 1 : 0); }
  void restore(ByteReader& in) override { forgot_ = in.number<uint8_t>() != 0; }
  void check_restored(const KvStore& store, int64_t tokens) const override {
    expect_kept_rows(store, shape_, tokens, !forgot_);
  }

 private:
  void forget(KvStore& store, int layer) {
    if (store.length(layer, 0) <= capacity_) return;
    const auto paid = newest_.attention_paid(store, layer);
    std::vector<float> sum(paid[0].size());
    for (const std::vector<float>& list : paid) {
      std::transform(sum.begin(), sum.end(), list.begin(), sum.begin(), std::plus<>());
    }
    const std::vector<int32_t> kept = top_indices(sum, capacity_);
    for (size_t list = 0; list < paid.size(); ++list) {
      store.keep(layer, static_cast<int>(list), kept);
    }
    forgot_ = true;
  }

  int64_t capacity_, stride_;
  ModelShape shape_;
  ObservedRows newest_;  ///< the last row of the pass
  StridePasses passes_;
  bool decoding_ = false;
  bool forgot_ = false;
  std::vector<float> lse_;  ///< [rows, heads] of the step
  std::vector<KeySegment> segments_;
};

class EasyKvTova final : public StrideEviction {
 public:
  EasyKvTova(const StrideBudget& budget, const ModelShape& model)
      : StrideEviction(budget, model), paid_(static_cast<size_t>(model.layers)) {}

  PromptChoice prompt_choice() const override { return PromptChoice::kByLastRow; }

 private:
  void observe(LayerStep& step, PlacedRows& rows) override {
    std::vector<float>& paid = paid_[static_cast<size_t>(step.layer)];
    paid.assign(static_cast<size_t>(step.store->length(step.layer, 0)), 0);
    rows.add_token_sums(step, step.rows - 1, paid);  // by the last row alone
  }

  void forget(KvStore& store, int layer, int64_t length) override {
    const std::vector<float>& paid = paid_[static_cast<size_t>(layer)];
    const std::vector<int32_t> kept = top_and_ends(paid, how().sink, how().recent, length);
    for (int head = 0; head < store.layout().heads[static_cast<size_t>(layer)]; ++head) {
      store.keep(layer, head, kept);
    }
  }

  std::vector<std::vector<float>> paid_;  ///< per layer, by row of the list
};

constexpr OptionInfo kOptions[] = {
    {"mode", OptionKind::kChoice, "official", "", 0, 0, "official|easykv",
     "cut to the capacity also while generating; or only in prompts, protecting sink and recent"},
    {"capacity", OptionKind::kInteger, "2048", "tokens", 1, 1 << 24, "",
     "rows that every head of a layer keeps; mode=easykv: up to capacity + stride after a prompt"},
    {"stride", OptionKind::kInteger, "256", "tokens", 1, 1 << 20, "",
     "prompt tokens between two cuts; 1 is the published rule, generated tokens always use it"},
    {"sink", OptionKind::kInteger, "4", "tokens", 0, 4096, "", "first rows that never leave",
     "mode=easykv"},
    {"recent", OptionKind::kInteger, "auto", "tokens", 0, 1 << 20, "",
     "last rows that never leave; auto: a tenth of capacity + stride", "mode=easykv"},
    {"positions", OptionKind::kChoice, "absolute", "", 0, 0, "absolute|cache",
     "where keys stand: at their place in the text, or in the kept list (no bound then)",
     "mode=easykv"},
};

}  // namespace

MethodInfo tova_method() {
  MethodInfo info;
  info.name = "tova";
  info.summary =
      "keeps the tokens that the newest query attends to, the same in all heads of a layer";
  info.when = "long generation in constant memory";
  info.keeps =
      "the rows that the newest query attends to most, the same in all heads of a layer; the rest "
      "is gone for good";
  info.harms =
      "what is needed again after one query in between did not look at it; a question at the end "
      "of a long document";
  info.paper = "Transformers are Multi-State RNNs, arXiv 2401.06104";
  info.options = kOptions;
  info.make = [](const MethodOptions& options,
                 const ModelShape& shape) -> std::unique_ptr<AttentionMethod> {
    if (options.text("mode") == "easykv") {
      return std::make_unique<EasyKvTova>(StrideBudget::from(options, "tova", "capacity"), shape);
    }
    return std::make_unique<Tova>(options.integer("capacity"), options.integer("stride"), shape);
  };
  return info;
}

}  // namespace longhaul
