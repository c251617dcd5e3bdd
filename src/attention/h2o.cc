// H2O (Zhang et al. 2023): every key sums up the attention that all queries pay it; the keys with
// the largest sums stay, with the most recent ones. `stream` forgets while a prompt is read, so
// that memory stays bounded; `oneshot` reads it whole and then chooses. Each KV head chooses for
// itself.

#include <utility>

#include "attention/prompt_compression.h"
#include "attention/stride_eviction.h"
#include "attention/top_and_ends.h"
#include "base/error.h"

namespace longhaul {
namespace {

class StreamedH2o final : public StrideEviction {
 public:
  using StrideEviction::StrideEviction;
  int numbers_per_row() const override { return 2; }  // its token and its sum

 private:
  void observe(LayerStep& step, PlacedRows& rows) override {
    rows.add_to_column(step, kAttentionSoFar);
  }

  /// Of a list the first `sink` rows stay, the last `recent` and those with the largest sums.
  void forget(KvStore& store, int layer, int64_t length) override {
    for (int head = 0; head < store.layout().heads[static_cast<size_t>(layer)]; ++head) {
      const std::span<const float> sums = store.column(layer, head, kAttentionSoFar);
      store.keep(layer, head, top_and_ends(sums, how().sink, how().recent, length));
    }
  }
};

constexpr OptionInfo kOptions[] = {
    {"mode", OptionKind::kChoice, "stream", "", 0, 0, "stream|oneshot",
     "forget while the prompt is read, or once it has been read"},
    {"budget", OptionKind::kInteger, "2048", "tokens", 1, 1 << 24, "", "rows that a head keeps"},
    {"stride", OptionKind::kInteger, "256", "tokens", 1, 1 << 20, "",
     "prompt tokens between two cuts; a head keeps up to budget + stride", "mode=stream"},
    {"sink", OptionKind::kInteger, "4", "tokens", 0, 4096, "", "first rows that never leave",
     "mode=stream"},
    {"recent", OptionKind::kInteger, "auto", "tokens", 0, 1 << 20, "",
     "last rows that never leave; auto: a tenth of budget + stride, or 32 with mode=oneshot"},
    {"positions", OptionKind::kChoice, "absolute", "", 0, 0, "absolute|cache",
     "where keys stand: at their place in the text, or in the kept list (no bound then)",
     "mode=stream"},
};

std::unique_ptr<AttentionMethod> make(const MethodOptions& options, const ModelShape& shape) {
  if (options.text("mode") == "stream") {
    return std::make_unique<StreamedH2o>(StrideBudget::from(options, "h2o"), shape);
  }
  const int64_t budget = options.integer("budget");
  const int64_t recent = options.optional_integer("recent").value_or(32);
  if (budget < recent) {
    user_error("--attention h2o: budget={}: must be at least recent = {}", budget, recent);
  }
  PromptCompression how;
  how.window = recent;
  how.kernel = 1;
  how.by_all_rows = true;
  how.budget = [budget](int, int64_t) { return budget; };
  return make_prompt_compression(std::move(how), shape);
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
