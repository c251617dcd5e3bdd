#include "attention/prompt_compression.h"

#include <algorithm>
#include <utility>

#include "attention/observed_rows.h"
#include "attention/placed_rows.h"
#include "attention/restored_lists.h"
#include "attention/top_and_ends.h"
#include "base/byte_stream.h"

namespace longhaul {
namespace {

class CompressedPrompt final : public AttentionMethod {
 public:
  CompressedPrompt(PromptCompression how, const ModelShape& shape)
      : how_(std::move(how)), shape_(shape), observed_(shape_, how_.window) {}

  KvLayout layout(const ModelShape& shape, DType type) const override {
    KvLayout layout = AttentionMethod::layout(shape, type);
    if (how_.per_query_head) layout.heads.assign(layout.heads.size(), shape.heads);
    return layout;
  }

  int numbers_per_row() const override { return how_.by_all_rows ? 2 : 1; }  // its token, its sum
  PromptChoice prompt_choice() const override { return PromptChoice::kAtEnd; }

  std::vector<Pass> prepare(const PromptFacts& prompt) override {
    observed_.clear();
    reading_ = true;
    return AttentionMethod::prepare(prompt);
  }

  /// The rows that score must be read by this method.
  int64_t dense_prefix(const PromptFacts& prompt) const override {
    if (how_.per_query_head || how_.by_all_rows) return 0;
    return std::max<int64_t>(0, prompt.tokens - how_.window);
  }

  void attend(LayerStep& step) override {
    if (step.decoding) reading_ = false;
    rows_.attend(step);
    tokens_ = step.begin + step.rows;
    if (!reading_) return;
    if (!how_.by_all_rows) {
      observed_.add(step, step.lse);
    } else if (shape_.own_window(step.layer) == 0) {
      rows_.add_to_column(step, kAttentionSoFar);
    }
  }

  void retain(KvStore& store, const Pass&, bool last_of_prompt) override {
    if (!reading_ || !last_of_prompt) return;
    reading_ = false;
    for (int layer = 0; layer < shape_.layers; ++layer) {
      if (shape_.own_window(layer) == 0) compress(store, layer);
    }
    observed_.clear();
  }

  size_t working_bytes(int64_t tokens, int) const override {
    const int64_t scores = shape_.heads * tokens * 4;  // bytes, of one layer
    if (how_.by_all_rows) return static_cast<size_t>(scores);
    return ObservedRows::bytes_for(shape_, std::min(tokens, how_.window)) +
           static_cast<size_t>(scores);
  }

  bool can_rewind() const override {
    return !compressed_ && !how_.by_all_rows;  // sums hold what later rows paid
  }
  void save(ByteWriter& out) const override { out.number<uint8_t>(compressed_ ? 1 : 0); }
  void restore(ByteReader& in) override { compressed_ = in.number<uint8_t>() != 0; }
  void check_restored(const KvStore& store, int64_t tokens) const override {
    expect_kept_rows(store, shape_, tokens, !compressed_);
  }

 private:
  void compress(KvStore& store, int layer) {
    const int64_t budget = how_.budget(layer, tokens_);
    const int lists = store.layout().heads[static_cast<size_t>(layer)];
    if (store.length(layer, 0) <= budget) return;  // the lists of a layer are equally long
    std::vector<std::vector<float>> paid;
    if (!how_.by_all_rows) paid = observed_.attention_paid(store, layer);
    const int64_t window = how_.by_all_rows ? how_.window : observed_.count(layer);
    for (int list = 0; list < lists; ++list) {
      const std::span<const float> scores = how_.by_all_rows
                                                ? store.column(layer, list, kAttentionSoFar)
                                                : std::span<float>(paid[static_cast<size_t>(list)]);
      store.keep(layer, list, compressed_rows(scores, budget, window, how_.kernel, how_.pooling));
    }
    compressed_ = true;
  }

  PromptCompression how_;
  ModelShape shape_;
  ObservedRows observed_;
  bool reading_ = false;     ///< a prompt is being read
  bool compressed_ = false;  ///< something was forgotten
  int64_t tokens_ = 0;       ///< of the context so far
  PlacedRows rows_{Placement::kText};
};

}  // namespace

std::vector<int32_t> compressed_rows(std::span<const float> paid, int64_t budget, int64_t window,
                                     int kernel, Pooling pooling) {
  const size_t early = paid.size() - static_cast<size_t>(window);
  std::vector<float> scores = pooled(paid.first(early), kernel, pooling);
  scores.resize(paid.size());
  return top_and_ends(scores, 0, window, budget);
}

std::unique_ptr<AttentionMethod> make_prompt_compression(PromptCompression how,
                                                         const ModelShape& shape) {
  return std::make_unique<CompressedPrompt>(std::move(how), shape);
}

}  // namespace longhaul
