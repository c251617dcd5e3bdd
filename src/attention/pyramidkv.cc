// PyramidKV (Cai et al. 2024): SnapKV's choice with a budget that falls from the first layer to the
// last, because attention spreads in low layers and gathers in high ones.

#include "attention/prompt_compression.h"
#include "attention/pyramid_budget.h"
#include "attention/registry.h"
#include "base/error.h"

namespace longhaul {

int64_t PyramidBudget::scheduled(int layer, int64_t tokens) const {
  const int64_t average = capacity - window;
  int64_t least = average / beta;
  int64_t most = 2 * average - least;
  if (most >= tokens - window) {
    most = tokens - window;
    least = 2 * average - most;
  }
  const int64_t step = layers > 1 ? (most - least) / (layers - 1) : 0;
  return layers > 1 ? most - layer * step : average;
}

int64_t PyramidBudget::kept(int layer, int64_t tokens) const {
  if (tokens < capacity) return tokens;
  if (tokens < 2 * (capacity - window)) return capacity;
  return scheduled(layer, tokens) + window;
}

namespace {

constexpr OptionInfo kOptions[] = {
    {"capacity", OptionKind::kInteger, "2048", "tokens", 2, 1 << 24, "",
     "rows that a head keeps of a prompt, on average over the layers"},
    {"window", OptionKind::kInteger, "8", "tokens", 1, 4096, "",
     "queries at the prompt's end that score the keys; always kept"},
    {"kernel", OptionKind::kInteger, "7", "tokens", 1, 255, "",
     "neighbouring keys whose scores are pooled; odd"},
    {"pooling", OptionKind::kChoice, "max", "", 0, 0, "avg|max", "how scores are pooled"},
    {"beta", OptionKind::kInteger, "20", "", 1, 1000, "",
     "the last layer keeps about 1/beta of the average"},
    {"per", OptionKind::kChoice, "kv_head", "", 0, 0, "kv_head|query_head",
     "whose choice it is; query_head stores keys once for every query head, as published"},
};

std::unique_ptr<AttentionMethod> make(const MethodOptions& options, const ModelShape& shape) {
  const PyramidBudget pyramid{shape.layers, options.integer("capacity"), options.integer("window"),
                              options.integer("beta")};
  PromptCompression how;
  how.window = pyramid.window;
  how.kernel = static_cast<int>(options.integer("kernel"));
  how.pooling = options.text("pooling") == "max" ? Pooling::kMax : Pooling::kAverage;
  how.per_query_head = options.text("per") == "query_head";
  how.budget = [pyramid](int layer, int64_t tokens) { return pyramid.kept(layer, tokens); };
  if (how.kernel % 2 == 0) user_error("--attention pyramidkv: kernel={}: must be odd", how.kernel);
  if (pyramid.window >= pyramid.capacity) {
    user_error("--attention pyramidkv: capacity={}: must be above window={}", pyramid.capacity,
               pyramid.window);
  }
  return make_prompt_compression(std::move(how), shape);
}

}  // namespace

MethodInfo pyramidkv_method() {
  MethodInfo info;
  info.name = "pyramidkv";
  info.summary = "keeps what the last queries of the prompt attend to, more in low layers";
  info.when = "as snapkv, at small budgets";
  info.keeps =
      "as snapkv, with more rows in low layers and fewer in high ones; the rest is gone for good";
  info.harms =
      "what snapkv harms, and models whose high layers need many keys. Reading costs as much as "
      "dense";
  info.paper =
      "PyramidKV: Dynamic KV Cache Compression based on Pyramidal Information Funneling, "
      "arXiv 2406.02069";
  info.options = kOptions;
  info.make = make;
  return info;
}

}  // namespace longhaul
