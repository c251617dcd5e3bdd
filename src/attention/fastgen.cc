// FastGen (Ge et al. 2023): once a prompt has been read, densely, every KV head keeps what the
// cheapest rule names that still holds enough of the attention that the prompt's rows paid: special
// tokens; punctuation too; the tokens with most attention too; a window of recent ones too; all. So
// heads keep lists of very different lengths (docs/methods/fastgen.md).

#include <algorithm>

#include "attention/hybrid_rules.h"
#include "attention/kept_rows.h"
#include "attention/registry.h"
#include "attention/restored_lists.h"
#include "base/byte_stream.h"
#include "base/error.h"
#include "ops/column_sums.h"

namespace longhaul {
namespace {

using Rule = HybridRules::Rule;

class FastGen final : public AttentionMethod {
 public:
  FastGen(const HybridRules& rules, const ModelShape& shape) : how_(rules), shape_(shape) {
    size_t heads = 0;
    for (const int in_layer : shape_.kv_heads) {
      first_rule_.push_back(heads);
      heads += static_cast<size_t>(in_layer);
    }
    rules_.assign(heads, Rule::kFull);
  }

  std::vector<Pass> prepare(const PromptFacts& prompt) override {
    reading_ = true;
    begin_ = prompt.begin;
    tokens_ = prompt.begin + prompt.tokens;
    return AttentionMethod::prepare(prompt);
  }

  void attend(LayerStep& step) override {
    if (step.decoding) reading_ = false;
    if (step.layer == 0) note_classes(step);
    lse_.resize(static_cast<size_t>(step.rows * shape_.heads));
    step.lse = lse_.data();
    attend_kept_rows(step, segments_);
    if (forgets_in(step.layer)) count(step);
  }

  void retain(KvStore& store, const Pass&, bool last_of_prompt) override {
    if (reading_ && !last_of_prompt) return;
    for (int layer = 0; layer < shape_.layers; ++layer) {
      if (!forgets_in(layer)) continue;
      for (int head = 0; head < shape_.kv_heads[static_cast<size_t>(layer)]; ++head) {
        Rule& now = rule(layer, head);
        if (!reading_ && now == Rule::kFull) continue;
        judge(store, layer, head);
        if (reading_) now = how_.cheapest(list_);
        if (now == Rule::kFull) continue;
        const std::vector<int32_t> kept = how_.kept(list_, now);
        if (kept.size() < list_.tokens.size()) store.keep(layer, head, kept);
      }
    }
    reading_ = false;
  }

  int numbers_per_row() const override { return 3; }  // its token and two sums

  PromptChoice prompt_choice() const override { return PromptChoice::kAtEnd; }
  bool can_rewind() const override { return false; }  // sums hold what later rows paid

  void save(ByteWriter& out) const override {
    out.number<int64_t>(begin_);
    out.array<uint8_t>(std::vector<uint8_t>(rules_.begin(), rules_.end()));
    out.array<uint8_t>(classes_);
  }

  void restore(ByteReader& in) override {
    const int64_t begin = in.number<int64_t>();
    const std::vector<uint8_t> rules = in.array<uint8_t>();
    std::vector<uint8_t> classes = in.array<uint8_t>();
    const bool known =
        std::all_of(rules.begin(), rules.end(), [](uint8_t r) { return r <= Rule::kFull; });
    if (begin < 0 || rules.size() != rules_.size() || !known) {
      user_error("{}: damaged: it does not hold fastgen's state of this model", in.path().string());
    }
    begin_ = begin;
    std::transform(rules.begin(), rules.end(), rules_.begin(),
                   [](uint8_t r) { return static_cast<Rule>(r); });
    classes_ = std::move(classes);
    tokens_ = static_cast<int64_t>(classes_.size());
  }

  void check_restored(const KvStore& store, int64_t tokens) const override {
    if (tokens_ != tokens || begin_ > tokens) {
      user_error("classes of {} tokens, a prompt that began at {}, in a context of {}", tokens_,
                 begin_, tokens);
    }
    for (int layer = 0; layer < shape_.layers; ++layer) {
      if (forgets_in(layer)) {
        expect_in_memory(store, layer, 0, tokens);
      } else {
        expect_all_tokens(store, layer, tokens);
      }
    }
  }

 private:
  bool forgets_in(int layer) const { return shape_.own_window(layer) == 0; }
  Rule& rule(int layer, int head) {
    return rules_[first_rule_[static_cast<size_t>(layer)] + static_cast<size_t>(head)];
  }

  void note_classes(const LayerStep& step) {
    classes_.resize(static_cast<size_t>(step.begin + step.rows));
    for (size_t r = 0; r < static_cast<size_t>(step.rows); ++r) {
      const size_t id = step.tokens.empty() ? SIZE_MAX : static_cast<size_t>(step.tokens[r]);
      const TokenClass known =
          id < shape_.token_classes.size() ? shape_.token_classes[id] : TokenClass::kOther;
      classes_[static_cast<size_t>(step.begin) + r] = static_cast<uint8_t>(known);
    }
    tokens_ = std::max(tokens_, step.begin + step.rows);
  }

  TokenClass class_of(int64_t token) const {
    const size_t at = static_cast<size_t>(token);
    return at < classes_.size() ? static_cast<TokenClass>(classes_[at]) : TokenClass::kOther;
  }

  /// Adds the step's attention to the sums of the keys: all of it and, while a prompt is read, that
  /// of the window alone.
  void count(LayerStep& step) {
    const float* queries[] = {step.rotated_q()};
    AttendCall call = step.call(queries);
    call.known_lse = lse_.data();
    windows_ = segments_;
    std::vector<AttendTask> tasks;
    std::vector<ColumnTarget> targets;
    for (int head = 0; head < step.kv_heads; ++head) {
      const size_t h = static_cast<size_t>(head);
      const Rule now = rule(step.layer, head);
      if (!reading_ && now != Rule::kHeavy && now != Rule::kWindow) continue;
      const std::span<float> all = step.store->column(step.layer, head, "attention");
      const std::span<float> recent = step.store->column(step.layer, head, "recent");
      if (reading_ && step.begin == begin_) {  // a new prompt is judged by its own rows
        std::fill(all.begin(), all.end(), 0.0f);
        std::fill(recent.begin(), recent.end(), 0.0f);
      }
      const AttendTask task{head * step.group(), step.group(), 0, step.rows, step.begin, {}};
      tasks.push_back(task);
      tasks.back().segments = {&segments_[h], 1};
      targets.push_back({all.data()});
      if (!reading_) continue;
      windows_[h].visible = Visibility::kWindow;
      windows_[h].window = how_.window_rows(tokens_);
      tasks.push_back(task);
      tasks.back().segments = {&windows_[h], 1};
      targets.push_back({recent.data()});
    }
    column_sums(call, tasks, targets);
  }

  /// Fills list_ from a KV head's rows.
  void judge(KvStore& store, int layer, int head) {
    const size_t rows = static_cast<size_t>(store.length(layer, head));
    list_.tokens.resize(rows);
    list_.classes.resize(rows);
    for (size_t row = 0; row < rows; ++row) {
      list_.tokens[row] = store.token_of(layer, head, static_cast<int64_t>(row));
      list_.classes[row] = class_of(list_.tokens[row]);
    }
    list_.attention = store.column(layer, head, "attention");
    list_.recent = store.column(layer, head, "recent");
    list_.begin = begin_;
    list_.end = tokens_;
    list_.heads = shape_.heads / shape_.kv_heads[static_cast<size_t>(layer)];
  }

  HybridRules how_;
  ModelShape shape_;
  std::vector<size_t> first_rule_;  ///< per layer, into rules_
  std::vector<Rule> rules_;         ///< of every KV head
  std::vector<uint8_t> classes_;    ///< TokenClass of every token so far
  int64_t begin_ = 0;               ///< first token of the last prompt
  int64_t tokens_ = 0;              ///< read by the end of the prompt, or so far
  bool reading_ = false;            ///< a prompt
  std::vector<float> lse_;          ///< [rows, heads] of the step
  std::vector<KeySegment> segments_, windows_;
  JudgedList list_;  ///< of the KV head that is judged; a member so that its memory stays
};

constexpr OptionInfo kOptions[] = {
    {"threshold", OptionKind::kReal, "0.85", "share", 0, 2, "",
     "attention that a head's rule must hold; 0: always the first rule, above 1: all heads full"},
    {"heavy", OptionKind::kReal, "0.3", "share", 0, 1, "",
     "tokens that the third rule keeps for the attention they got"},
    {"window", OptionKind::kReal, "0.3", "share", 0, 1, "",
     "last tokens that the fourth rule keeps too"},
    {"global", OptionKind::kInteger, "4", "tokens", 0, 1 << 20, "",
     "first tokens, kept by every rule"},
};

}  // namespace

MethodInfo fastgen_method() {
  MethodInfo info;
  info.name = "fastgen";
  info.summary = "every head keeps what the cheapest rule names that holds most of its attention";
  info.when = "generation after a prompt that fits: less memory, by head and by prompt";
  info.keeps =
      "of each prompt what the cheapest rule names that holds most of a head's attention; the rest "
      "is gone for good";
  info.harms =
      "a second question: what a head dropped is gone. Reading a prompt costs more time than dense "
      "and all of its memory at the peak";
  info.paper = "Ge et al. 2023, Model Tells You What to Discard: Adaptive KV Cache Compression";
  info.options = kOptions;
  info.make = [](const MethodOptions& o, const ModelShape& s) -> std::unique_ptr<AttentionMethod> {
    const HybridRules rules{o.real("threshold"), o.real("heavy"), o.real("window"),
                            o.integer("global")};
    return std::make_unique<FastGen>(rules, s);
  };
  return info;
}

}  // namespace longhaul
