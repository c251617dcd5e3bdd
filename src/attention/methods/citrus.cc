// Chunked state eviction and CItruS (Bai et al. 2024; docs/methods/citrus.md). A document is
// processed in chunks. After each chunk, a list keeps its `k` most important rows and the rows of
// the chunk. The importance of a row is the attention that it received. In mode "standard" this is
// the attention of the chunk. In mode "shared" it is the attention of the instruction, which is
// processed again for every chunk and then removed. Mode "individual" uses both, each with a KV
// store of its own: one store is used to process the document, and the other to generate the
// answer. Keys are stored without RoPE rotation, and their positions are their indices in the list.
// All heads of a layer keep the same tokens.

#include <algorithm>

#include "attention/parts/planned_attention.h"
#include "attention/registry.h"
#include "base/error.h"
#include "base/nth.h"
#include "kv/list_checks.h"
#include "ops/choose/select_rows.h"
#include "ops/core/all_reduce.h"
#include "ops/core/fill.h"

namespace longhaul {
namespace {

/// Largest number of tokens of an instruction, if chunks are shorter. The beginning of a longer
/// instruction is processed as a part of the document. This limits the memory and the distances
/// between rows and keys.
constexpr int64_t kLongestInstruction = 512;

constexpr std::string_view kColumns[] = {"importance"};

/// Per layer: the attention probability that each row of the lists received, summed over rows and
/// heads; empty if it is not needed.
using Importance = std::vector<Array<float>>;

class Citrus final : public Method {
 public:
  enum class Cache : uint8_t { kStandard, kShared, kIndividual };
  enum class Fidelity : uint8_t { kRepo, kPaper };
  enum class Sums : uint8_t { kLast, kAll };
  Cache cache = Cache::kIndividual;
  int64_t k = 768, chunk = 256, sink = 0;
  Fidelity fidelity = Fidelity::kRepo;
  Sums sums = Sums::kLast;
  void declare(OptionList& o) {
    o.choice(cache, "cache", {"standard", "shared", "individual"},
             "who decides which rows are kept: the next chunk, the instruction, or each for a list "
             "of its "
             "own");
    o.integer(k, "k", 1, 1 << 24, "tokens", "rows that a list keeps of those before a chunk");
    o.integer(chunk, "chunk", 1, 1 << 20, "tokens",
              "document tokens between two evictions; all of them enter the list");
    o.integer(sink, "sink", 0, 4096, "tokens", "first rows, never evicted, of the k");
    o.choice(
        fidelity, "fidelity", {"repo", "paper"},
        "paper: a shared list is evicted before the chunk is computed, and importance is the share "
        "of the attention to the list, without the chunk's own part");
    o.choice(sums, "sums", {"last", "all"},
             "importance by the last chunk or instruction alone, or summed up since a row was "
             "added, as H2O does (with cache=shared: the paper's H2O + shared)")
        .later = true;
  }

  void fit(const ModelShape& shape) {
    shape_ = shape;
    whole = {.place = KeyPlace::kCache,
             .when = When::kOwn,
             .chooser = Chooser::kLayer,
             .own_rule = true,
             .observation_window = kNoBound,
             .columns = std::span(kColumns).first(sums == Sums::kAll ? 1 : 0),
             .reads_instruction = true,
             .streams = individual() ? 2 : 1};
    by_chunk_.resize(shape.kv_heads.size());
    by_instruction_.resize(shape.kv_heads.size());
    if (sink <= k) return;
    user_error("--attention citrus: sink={}: must not be more than k={}", sink, k);
  }

  ListPlan plan(int layer, int, int64_t) const override {
    const int64_t window = shape_.own_window(layer);
    const int64_t page = KvLayout{}.page_rows;
    // Length of the next pass: an instruction, or a chunk, which is not longer.
    const int64_t next = longest_instruction();
    const int64_t rows = (window > 0 ? window + page : k + chunk) + next;
    // While another layer is computed, a list holds the rows that it keeps, and a chunk or the
    // instruction at the prompt's end.
    const int64_t at_rest = window > 0 ? rows : k + next;
    return {.keep = {.in_memory = rows + page, .at_rest = at_rest + page, .rest_chunk = next},
            .see = {.reach = k + chunk + next}};
  }

  std::vector<Pass> passes(const PromptFacts& prompt) override {
    if (prompt.instruction == 0) {
      user_error(
          "--attention citrus: needs an instruction to read the document by: give the document "
          "with -f and the instruction with -p (perplexity: --instruction)");
    }
    tokens_ = prompt.tokens;
    document_ = prompt.tokens - std::min(prompt.instruction, longest_instruction());
    kept_.assign(static_cast<size_t>(shape_.layers), 0);
    forget_scores(by_chunk_);
    forget_scores(by_instruction_);
    std::vector<Pass> passes;
    const auto read = [&](int64_t begin, int64_t end, int stream, bool discard) {
      const Phase phase = begin < document_ ? Phase::kPrompt : Phase::kInstruction;
      for (; begin < end; begin += prompt.chunk) {
        const int64_t rows = std::min<int64_t>(prompt.chunk, end - begin);
        passes.push_back({.begin = begin,
                          .count = rows,
                          .stream = stream,
                          .discard = discard,
                          .phase = phase,
                          .also_to = stream == 1 ? 0 : -1});
      }
    };
    int64_t held = held_;
    for (int64_t begin = 0; begin < document_; begin += chunk) {
      const int64_t end = std::min(begin + chunk, document_);
      // The chunk and the instruction are processed with the same list, unless rows are evicted
      // between them. Neither sees the rows of the other.
      if (held > k && cache != Cache::kStandard) read(document_, tokens_, 0, true);
      read(begin, end, individual() ? 1 : 0, false);
      held = std::min(held, k) + end - begin;
    }
    if (held > k) read(document_, tokens_, 0, true);
    read(document_, tokens_, 0, false);
    return passes;
  }

  void observe(LayerStep& step) override {
    const Pass& pass = step.pass;
    const bool document = pass.phase == Phase::kPrompt;
    if (step.own_window() > 0) return;
    const int64_t held = step.store->length(step.layer, 0), before = held - step.rows;
    if (!pass.discard) held_ = held;
    if (pass.discard) {
      add(step, by_instruction_, pass.begin == document_, before);
    } else if (document && cache != Cache::kShared) {
      add(step, by_chunk_, pass.begin % chunk == 0, before);
    }
  }

  void choose(const Eviction& due) override {
    const Pass& pass = due.pass;
    if (pass.phase == Phase::kDecode) return;
    int64_t& kept = nth(kept_, due.layer);
    if (pass.discard) {
      const bool paper = fidelity == Fidelity::kPaper;
      // In the other case, rows are evicted after the chunk for which the instruction was
      // processed.
      const bool ready = paper || kept == document_;
      if (ready && pass.end() == tokens_ && due.stream == 0) evict(due, by_instruction_);
      return;
    }
    const bool document = pass.phase == Phase::kPrompt;
    if (document && (pass.end() % chunk == 0 || pass.end() == document_)) {
      const bool by_chunk = due.stream == 1 || cache == Cache::kStandard;
      evict(due, by_chunk ? by_chunk_ : by_instruction_);
    }
    kept = pass.end();
  }

  StoreCheck archive(Archive& archive) override {
    archive.number(held_);
    return [this](const KvStore& store, int64_t) {
      for (int layer = 0; layer < shape_.layers; ++layer) {
        expect_equal_lists(store, layer);
        if (shape_.own_window(layer) == 0) expect_length(store, layer, 0, held_);
      }
    };
  }

 private:
  bool individual() const { return cache == Cache::kIndividual; }
  int64_t longest_instruction() const { return std::max(chunk, kLongestInstruction); }

  static void forget_scores(Importance& importance) {
    for (Array<float>& scores : importance) scores.resize(host_queue(), 0);
  }

  /// Adds the attention probability that the scored rows received from the step's query rows,
  /// summed over all heads. If `begins` is true, the step begins a chunk or an instruction. The
  /// sums then restart at 0 for the `before` rows in the list, if some of these will be evicted.
  void add(LayerStep& step, Importance& importance, bool begins, int64_t before) {
    Array<float>& scores = nth(importance, step.layer);
    if (begins) fill(*step.queue, scores.resize(*step.queue, before > k ? before : 0), 0);
    if (scores.size() == 0) return;
    add_attention_to_tokens(step, scores.view(), fidelity == Fidelity::kPaper, by_list_);
  }

  /// Keeps the k scored rows with the highest importance, and all later rows. In a layer with a
  /// sliding window of the model itself, keeps the rows of this window instead.
  void evict(const Eviction& due, Importance& importance) {
    const int64_t window = shape_.own_window(due.layer), length = due.rows(0);
    Array<float>& scores = nth(importance, due.layer);
    if (window > 0) {
      drop_old(due, length - window);
    } else if (scores.size() > 0) {
      const int64_t scored = scores.size(), later = length - scored;
      const bool earlier = sums == Sums::kAll;
      const View<float> all = earlier ? due.column(0, 0) : whole_.resize(due.queue, length);
      all_reduce(due.queue, scores.view());
      (earlier ? add_lists : copy)(due.queue, scores.view(), all.part(0, scored));
      const RowList kept = select_rows(due.queue, all, {sink, later, k + later}, selection_);
      std::vector<KeptList> rows;
      for (int head = 0; head < due.lists; ++head) rows.push_back({head, kept});
      due.store.keep(due.layer, rows);
    }
    scores.resize(due.queue, 0);
    if (window == 0) held_ = due.rows(0);
  }

  /// Evicts the first `rows` rows, but only whole pages, so that pages move instead of rows.
  static void drop_old(const Eviction& due, int64_t rows) {
    const int64_t page = due.store.layout().page_rows;
    for (int head = 0; head < due.lists && rows >= page; ++head) {
      due.store.drop(due.layer, head, 0, rows / page * page);
    }
  }

  ModelShape shape_;
  int64_t tokens_ = 0, document_ = 0;  ///< tokens of the prompt
  std::vector<int64_t> kept_;          ///< per layer: number of prompt tokens stored in the lists
  int64_t held_ = 0;                   ///< number of rows of a list
  /// Importance from the chunk and from the instruction, for the rows of the list to which each of
  /// the two attends.
  Importance by_chunk_, by_instruction_;
  Array<float> by_list_, whole_;
  RowSelection selection_;
};

}  // namespace

MethodInfo citrus_method() {
  MethodInfo info = method_info<Citrus>({.name = "citrus"});
  info.summary = "reads a document by its question: keeps what the instruction attends to";
  info.when = "a question about a text of any length, in constant memory";
  info.keeps =
      "the rows that the question attends to while the document is read part by part; the rest is "
      "gone for good";
  info.harms =
      "a question that is not known before the document is read, and a second, different question";
  info.paper = "CItruS: Chunked Instruction-aware State Eviction for Long Sequence Modeling";
  info.covers = {"", "cache=shared,chunk=16", "cache=standard,chunk=7", "chunk=50,fidelity=paper"};
  info.small = {{"cache=standard,k=200,chunk=150", 200 + 150 + 512},
                {"cache=shared,k=200,chunk=150", 200 + 150 + 512},
                {"k=16,chunk=8,sink=2", 16 + 8 + 512, false, true},
                {"k=200,chunk=600", 200 + 2 * 600},
                {"k=16,chunk=8,cache=shared", 16 + 8 + 512, false, true},
                {"k=16,chunk=8,cache=shared,sums=all", 16 + 8 + 512, false, true}};
  return info;
}

}  // namespace longhaul
