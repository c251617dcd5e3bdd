// SnapKV (Li et al. 2024): after a prompt has been read, its last queries vote for the keys that
// every head keeps; their votes are pooled, so that neighbours of an important key stay too.

#include "attention/prompt_compression.h"
#include "attention/registry.h"
#include "base/error.h"

namespace longhaul {
namespace {

constexpr OptionInfo kOptions[] = {
    {"capacity", OptionKind::kInteger, "2048", "tokens", 2, 1 << 24, "",
     "rows that a head keeps of a prompt, the window among them"},
    {"window", OptionKind::kInteger, "32", "tokens", 1, 4096, "",
     "queries at the prompt's end that score the keys; always kept"},
    {"kernel", OptionKind::kInteger, "5", "tokens", 1, 255, "",
     "neighbouring keys whose scores are pooled; odd"},
    {"pooling", OptionKind::kChoice, "avg", "", 0, 0, "avg|max", "how scores are pooled"},
    {"per", OptionKind::kChoice, "kv_head", "", 0, 0, "kv_head|query_head",
     "whose choice it is; query_head stores keys once for every query head, as published"},
};

std::unique_ptr<AttentionMethod> make(const MethodOptions& options, const ModelShape& shape) {
  const int64_t capacity = options.integer("capacity");
  PromptCompression how;
  how.window = options.integer("window");
  how.kernel = static_cast<int>(options.integer("kernel"));
  how.pooling = options.text("pooling") == "max" ? Pooling::kMax : Pooling::kAverage;
  how.per_query_head = options.text("per") == "query_head";
  how.budget = [capacity](int, int64_t) { return capacity; };
  if (how.kernel % 2 == 0) user_error("--attention snapkv: kernel={}: must be odd", how.kernel);
  if (how.window >= capacity) {
    user_error("--attention snapkv: capacity={}: must be above window={}", capacity, how.window);
  }
  return make_prompt_compression(std::move(how), shape);
}

}  // namespace

MethodInfo snapkv_method() {
  MethodInfo info;
  info.name = "snapkv";
  info.summary =
      "keeps what the last queries of the prompt attend to, the same number in every head";
  info.when = "one question at the end of a long prompt, and short answers";
  info.keeps =
      "of each prompt `capacity` rows a head, chosen by the prompt's last queries; the rest is "
      "gone for good";
  info.harms =
      "a second question: what the first did not need is gone; answers spread over more than "
      "`capacity` tokens. Reading costs as much as dense";
  info.paper = "SnapKV: LLM Knows What You are Looking for Before Generation, arXiv 2404.14469";
  info.options = kOptions;
  info.make = make;
  return info;
}

}  // namespace longhaul
