// FastGen (Ge et al. 2023; docs/methods/fastgen.md). The prefill is dense. Then every KV head keeps
// the rows that its rule selects. The rules add in this order: special tokens, punctuation, the
// tokens with most attention, a window of recent tokens, all rows. A head uses the first rule whose
// rows received enough of the prompt's attention. Lists of different heads therefore have very
// different lengths.

#include <algorithm>

#include "attention/methods/fastgen/hybrid_rules.h"
#include "attention/parts/planned_attention.h"
#include "attention/registry.h"
#include "base/error.h"
#include "base/nth.h"
#include "base/rolling_array.h"
#include "ops/core/fill.h"

namespace longhaul {
namespace {

using Rule = HybridRules::Rule;
constexpr std::string_view kFastgenColumns[] = {"attention", "recent"};

static_assert(static_cast<int>(TokenClass::kSpecial) == JudgedList::kSpecial &&
              static_cast<int>(TokenClass::kPunctuation) == JudgedList::kPunctuation);

class FastGen final : public Method {
 public:
  HybridRules how_{.threshold = 0.85, .heavy = 0.3, .window = 0.3, .global = 4};
  void declare(OptionList& o) {
    o.real(how_.threshold, "threshold", 0, 2, "share",
           "attention that a head's rule must hold; 0: always the first rule, above 1: all heads "
           "full");
    o.real(how_.heavy, "heavy", 0, 1, "share",
           "tokens that the third rule keeps for the attention they got");
    o.real(how_.window, "window", 0, 1, "share", "last tokens that the fourth rule keeps too");
    o.integer(how_.global, "global", 0, 1 << 20, "tokens", "first tokens, kept by every rule");
  }

  void fit(const ModelShape& shape) {
    shape_ = shape;
    whole = {.when = When::kPromptEnd,
             .own_rule = true,
             .every_token = true,
             .columns = kFastgenColumns};
    for (const int heads : shape_.kv_heads) {
      first_rule_.push_back(std::ssize(rules_));
      rules_.resize(rules_.size() + static_cast<size_t>(heads), Rule::kFull);
    }
  }

  ListPlan plan(int, int, int64_t) const override { return {}; }

  std::vector<Pass> passes(const PromptFacts& prompt) override {
    begin_ = prompt.begin;
    tokens_ = prompt.begin + prompt.tokens;
    return {};
  }

  void attend(LayerStep& step) override {
    decoding_ = step.decoding();
    if (step.layer == 0) note_classes(step);
    Method::attend(step);
  }

  /// Adds the attention that stored rows received from the step's query rows to the first column.
  /// During prefill, adds the part that came from query rows with the stored row in their window to
  /// the second column.
  void observe(LayerStep& step) override {
    all_.assign(static_cast<size_t>(step.kv_heads), {});
    recent_.assign(all_.size(), {});
    for (int head = 0; head < step.kv_heads; ++head) {
      const Rule now = rule(step.layer, head);
      if (decoding_ && now != Rule::kHeavy && now != Rule::kWindow) continue;
      const View<float> all = step.store->column(step.layer, head, kFastgenColumns[0]);
      const View<float> recent = step.store->column(step.layer, head, kFastgenColumns[1]);
      if (!decoding_ && step.begin == begin_) {  // sums restart with every prompt
        fill(*step.queue, all, 0);
        fill(*step.queue, recent, 0);
      }
      nth(all_, head) = {all, {}};
      if (!decoding_) nth(recent_, head) = {recent, {}};
    }
    add_attention(step, {}, all_);
    if (!decoding_) add_attention(step, {.window = how_.window_rows(tokens_)}, recent_);
  }

  /// Collects the layers of an eviction, and determines the rules of all lists in the last layer,
  /// so that the host waits for a device only once.
  void choose(const Eviction& due) override {
    // Entries that exist here belong to a prompt that failed.
    if (!due_.empty() && due_.back().layer >= due.layer) due_.clear();
    due_.push_back(due);
    if (!due.last) return;
    kept_.resize(due_.size());
    for (std::vector<KeptList>& lists : kept_) lists.clear();
    judge(due.queue, kept_);
    for (size_t i = 0; i < due_.size(); ++i) due_[i].store.keep(due_[i].layer, kept_[i]);
    due_.clear();
  }

  StoreCheck archive(Archive& archive) override {
    std::vector<uint8_t> rules(rules_.begin(), rules_.end());
    archive.number(begin_);
    archive.array(rules);
    archive.array(classes_);
    if (!archive.loading()) return {};
    sent_.clear();
    const bool known =
        std::all_of(rules.begin(), rules.end(), [](uint8_t r) { return r <= Rule::kFull; });
    archive.expect(begin_ >= 0 && rules.size() == rules_.size() && known,
                   "it does not hold fastgen's state of this model");
    std::transform(rules.begin(), rules.end(), rules_.begin(),
                   [](uint8_t r) { return static_cast<Rule>(r); });
    tokens_ = static_cast<int64_t>(classes_.size());
    return [this](const KvStore&, int64_t tokens) {
      if (tokens_ == tokens && begin_ <= tokens) return;
      user_error("classes of {} tokens, a prompt that began at {}, in a context of {}", tokens_,
                 begin_, tokens);
    };
  }

 private:
  struct Place {
    size_t layer = 0;  ///< index in due_
    int list = 0;
  };

  /// Determines the rules and the kept rows of all lists. Appends each list of due_[i] that loses
  /// rows to kept[i].
  void judge(Queue& queue, std::span<std::vector<KeptList>> kept) {
    std::vector<JudgedList> lists;
    std::vector<Place> places;
    for (size_t i = 0; i < due_.size(); ++i) {
      for (int list = 0; list < due_[i].lists; ++list) {
        const Rule now = rule(due_[i].layer, list);
        if (decoding_ && now == Rule::kFull) continue;
        lists.push_back(judged(due_[i], list, decoding_ ? now : -1));
        places.push_back({i, list});
      }
    }
    if (lists.empty()) return;
    const std::vector<HybridRules::Verdict> verdicts = how_.judge(queue, lists, memory_);
    std::vector<int64_t> counts;
    size_t leaving = 0;  // number of lists that lose rows, which are moved to the front
    for (size_t i = 0; i < lists.size(); ++i) {
      const auto& [now, rows] = verdicts[i];
      rule(due_[places[i].layer].layer, places[i].list) = now;
      if (rows == lists[i].rows) continue;
      counts.push_back(rows);
      lists[leaving] = lists[i];
      lists[leaving].rule = now;
      places[leaving++] = places[i];
    }
    lists.resize(leaving);
    const std::vector<RowList> rows = how_.kept(queue, lists, counts, memory_);
    for (size_t i = 0; i < leaving; ++i) kept[places[i].layer].push_back({places[i].list, rows[i]});
  }

  JudgedList judged(const Eviction& due, int list, int rule) {
    return {.rows = due.rows(list),
            .tokens = due.store.tokens(due.layer, list),
            .classes = classes_there(due.queue),
            .attention = due.column(list, 0),
            .recent = due.column(list, 1),
            .begin = begin_,
            .end = tokens_,
            .heads = shape_.heads / shape_.lists(due.layer),
            .rule = rule};
  }

  /// Returns the classes of all tokens in the queue's memory, after uploading those that are
  /// missing there.
  View<const uint8_t> classes_there(Queue& queue) {
    sent_.append(queue,
                 std::span<const uint8_t>(classes_).subspan(static_cast<size_t>(sent_.size())));
    return sent_.view();
  }

  Rule& rule(int layer, int head) { return nth(rules_, nth(first_rule_, layer) + head); }

  void note_classes(const LayerStep& step) {
    classes_.resize(static_cast<size_t>(step.begin + step.rows));
    if (sent_.size() > step.begin) sent_.clear();  // tokens were removed since the last upload
    for (int r = 0; r < step.rows; ++r) {
      const int64_t id = step.tokens.empty() ? -1 : nth(step.tokens, r);
      const bool known =
          shape_.token_classes != nullptr && id >= 0 && id < std::ssize(*shape_.token_classes);
      const TokenClass is = known ? nth(*shape_.token_classes, id) : TokenClass::kOther;
      nth(classes_, step.begin + r) = static_cast<uint8_t>(is);
    }
    tokens_ = std::max(tokens_, step.begin + step.rows);
  }

  ModelShape shape_;
  std::vector<Eviction> due_;                ///< layers of the current eviction
  std::vector<std::vector<KeptList>> kept_;  ///< per layer of due_
  std::vector<int64_t> first_rule_;          ///< per layer: index of its first rule in rules_
  std::vector<Rule> rules_;                  ///< rule of every KV head
  std::vector<uint8_t> classes_;             ///< TokenClass of every token so far
  RollingArray<uint8_t> sent_;               ///< copy of the first classes_ in the queue's memory
  int64_t begin_ = 0;                        ///< first token of the last prompt
  int64_t tokens_ = 0;  ///< length of the context at the end of the prompt, or so far
  bool decoding_ = false;
  std::vector<ColumnTarget> all_, recent_;  ///< per list
  JudgedRows memory_;
};

}  // namespace

MethodInfo fastgen_method() {
  MethodInfo info = method_info<FastGen>({.name = "fastgen"});
  info.summary = "every head keeps what the cheapest rule names that holds most of its attention";
  info.when = "generation after a prompt that fits: less memory, by head and by prompt";
  info.keeps =
      "of each prompt what the cheapest rule names that holds most of a head's attention; the rest "
      "is gone for good";
  info.harms =
      "a second question: what a head dropped is gone. Reading a prompt costs more time than dense "
      "and all of its memory at the peak";
  info.paper = "Ge et al. 2023, Model Tells You What to Discard: Adaptive KV Cache Compression";
  info.covers = {"threshold=1.5", "global=700", "heavy=1,threshold=1"};
  info.small = {{"threshold=0.5", kNoBound, true}, {"threshold=2", kNoBound, true}};
  return info;
}

}  // namespace longhaul
