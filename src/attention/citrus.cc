// Chunked state eviction and CItruS (Bai et al. 2024; docs/methods/citrus.md): a document is read
// in chunks; after each, a layer's list keeps the `k` rows that were most important and the chunk.
// Importance is attention received: from the chunk itself (standard), or from the instruction,
// which is read once more for every chunk and thrown away (shared), or both, each with a list of
// its own (individual: the document is read with one, the answer is written with the other). Keys
// are stored raw and stand at their index in the list; all heads of a layer keep the same tokens.

#include <algorithm>
#include <limits>

#include "attention/placed_rows.h"
#include "attention/registry.h"
#include "attention/restored_lists.h"
#include "attention/sink_recent.h"
#include "base/byte_stream.h"
#include "base/error.h"
#include "ops/ranking.h"

namespace longhaul {
namespace {

struct CitrusOptions {
  bool standard = false, individual = false;  ///< neither: shared
  bool paper = false;  ///< normalised over the list alone; a shared list is cut before the chunk
  int64_t k = 0, chunk = 0, sink = 0;
};

/// Tokens that an instruction has at most, where a chunk has fewer: what comes before them in a
/// longer one is read as document. Memory stays bounded with it, and the distances that rows see.
constexpr int64_t kLongestInstruction = 512;

/// Sums of the probability that the rows of a list got, per layer; empty where nobody asked.
using Importance = std::vector<std::vector<float>>;

class Citrus final : public AttentionMethod {
 public:
  Citrus(const CitrusOptions& options, const ModelShape& shape) : o_(options), shape_(shape) {}

  int streams() const override { return o_.individual ? 2 : 1; }

  std::vector<Pass> prepare(const PromptFacts& prompt) override {
    if (prompt.instruction == 0) {
      user_error(
          "--attention citrus: needs an instruction to read the document by: give the document "
          "with -f and the instruction with -p (perplexity: --instruction)");
    }
    reading_ = true;
    tokens_ = prompt.tokens;
    document_ = prompt.tokens - std::min(prompt.instruction, longest_instruction());
    kept_ = 0;
    by_chunk_.assign(static_cast<size_t>(shape_.layers), {});
    by_instruction_ = by_chunk_;
    std::vector<Pass> passes;
    const auto read = [&](int64_t begin, int64_t end, int stream, bool discard) {
      for (; begin < end; begin += prompt.chunk) {
        passes.push_back({begin, std::min<int64_t>(prompt.chunk, end - begin), stream, discard});
      }
    };
    int64_t held = held_;
    for (int64_t begin = 0; begin < document_; begin += o_.chunk) {
      const int64_t end = std::min(begin + o_.chunk, document_);
      if (held > o_.k && !o_.standard) read(document_, tokens_, 0, true);
      read(begin, end, o_.individual ? 1 : 0, false);
      held = std::min(held, o_.k) + end - begin;
    }
    if (held > o_.k) read(document_, tokens_, 0, true);
    read(document_, tokens_, 0, false);
    return passes;
  }

  void attend(LayerStep& step) override {
    if (step.decoding) reading_ = false;
    const int64_t before = step.store->length(step.layer, 0);
    rows_.attend(step);
    if (o_.individual && reads_document(step.pass)) {
      step.streams[0].append(step.layer, step.rows, step.k, step.v);
    }
    if (window(step.layer) > 0) return;
    if (!step.pass.discard) held_ = before + step.rows;
    if (step.pass.discard) {
      if (step.pass.begin == document_) begin_scores(by_instruction_, step.layer, before);
      observe(step, by_instruction_);
    } else if (reads_document(step.pass) && (o_.standard || o_.individual)) {
      if (step.pass.begin % o_.chunk == 0) begin_scores(by_chunk_, step.layer, before);
      observe(step, by_chunk_);
    }
  }

  void retain_streams(std::span<KvStore> streams, const Pass& pass, bool last_of_prompt) override {
    if (!reading_) return;
    const int64_t read = pass.begin + pass.count;
    if (pass.discard) {
      const bool due = o_.paper || kept_ == document_;  // else with the chunk that it is read for
      if (due && read == tokens_) cut(streams[0], by_instruction_);
      return;
    }
    if (reads_document(pass) && (read % o_.chunk == 0 || read == document_)) {
      cut(streams[0], o_.standard ? by_chunk_ : by_instruction_);
      if (o_.individual) cut(streams[1], by_chunk_);
    }
    kept_ = read;
    if (last_of_prompt) reading_ = false;
  }

  int numbers_per_row() const override { return 1; }  // its token
  PromptChoice prompt_choice() const override { return PromptChoice::kByInstruction; }
  bool keeps_replies() const override { return true; }
  size_t most_kv_bytes(const KvLayout& layout, int64_t tokens, int) const override {
    int64_t rows = o_.k + o_.chunk;
    for (const int64_t window : shape_.window) {
      rows = std::max(rows, window > 0 ? window + layout.page_rows : 0);
    }
    rows += longest_instruction();
    return layout.bytes_for(std::min(tokens, rows)) * static_cast<size_t>(streams());
  }

  void save(ByteWriter& out) const override { out.number<int64_t>(held_); }
  void restore(ByteReader& in) override { held_ = in.number<int64_t>(); }
  void check_restored(const KvStore& store, int64_t) const override {
    for (int layer = 0; layer < shape_.layers; ++layer) {
      expect_equal_lists(store, layer);
      if (window(layer) == 0) expect_length(store, layer, 0, held_);
    }
  }

  /// A list holds what the last cut left of it, k and a chunk, and the next chunk or the
  /// instruction.
  int64_t reach(int64_t tokens, int) const override {
    return std::min(tokens, o_.k + o_.chunk + longest_instruction());
  }

 private:
  int64_t longest_instruction() const { return std::max(o_.chunk, kLongestInstruction); }
  int64_t window(int layer) const { return shape_.own_window(layer); }
  bool reads_document(const Pass& pass) const {
    return reading_ && !pass.discard && pass.begin < document_;
  }

  /// A chunk or an instruction begins: the rows that the list holds may leave after it.
  void begin_scores(Importance& importance, int layer, int64_t held) const {
    importance[static_cast<size_t>(layer)].assign(static_cast<size_t>(held > o_.k ? held : 0), 0);
  }

  /// Adds the probability that the step's rows give to the rows that have scores, over all heads.
  void observe(const LayerStep& step, Importance& importance) {
    std::vector<float>& scores = importance[static_cast<size_t>(step.layer)];
    if (scores.empty()) return;
    rows_.add_token_sums(step, 0, scores, o_.paper);
  }

  /// Of the rows that have scores the k best stay, and all that came after them. A layer with the
  /// model's own window keeps that.
  void cut(KvStore& list, Importance& importance) {
    for (int layer = 0; layer < shape_.layers; ++layer) {
      const int heads = shape_.kv_heads[static_cast<size_t>(layer)];
      std::vector<float>& scores = importance[static_cast<size_t>(layer)];
      std::vector<int32_t> kept;
      if (!scores.empty()) {
        std::fill_n(scores.begin(), o_.sink, std::numeric_limits<float>::infinity());
        kept = top_indices(scores, o_.k);
        for (int64_t row = std::ssize(scores); row < list.length(layer, 0); ++row) {
          kept.push_back(static_cast<int32_t>(row));
        }
      }
      for (int head = 0; head < heads; ++head) {
        if (window(layer) > 0) drop_middle(list, layer, head, 0, window(layer));
        if (!kept.empty()) list.keep(layer, head, kept);
      }
      scores.clear();
      if (window(layer) == 0) held_ = list.length(layer, 0);
    }
  }

  CitrusOptions o_;
  ModelShape shape_;
  bool reading_ = false;                  ///< a prompt is being read
  int64_t tokens_ = 0, document_ = 0;     ///< of the prompt
  int64_t kept_ = 0;                      ///< tokens of the prompt in the lists
  int64_t held_ = 0;                      ///< rows of a list
  Importance by_chunk_, by_instruction_;  ///< of the rows of the list that each of them reads
  PlacedRows rows_{Placement::kList};
};

constexpr OptionInfo kOptions[] = {
    {"cache", OptionKind::kChoice, "individual", "", 0, 0, "standard|shared|individual",
     "who decides what stays: the next chunk, the instruction, or each for a list of its own"},
    {"k", OptionKind::kInteger, "768", "tokens", 1, 1 << 24, "",
     "rows that a list keeps of what was read before a chunk"},
    {"chunk", OptionKind::kInteger, "256", "tokens", 1, 1 << 20, "",
     "document tokens between two cuts; all of them enter the list"},
    {"sink", OptionKind::kInteger, "0", "tokens", 0, 4096, "",
     "first rows that never leave, of the k"},
    {"fidelity", OptionKind::kChoice, "repo", "", 0, 0, "repo|paper",
     "paper: a shared list is cut before it reads the chunk, and importance is the share of the "
     "attention to the list, without the chunk's own part"},
};

std::unique_ptr<AttentionMethod> make(const MethodOptions& options, const ModelShape& shape) {
  CitrusOptions o;
  o.standard = options.text("cache") == "standard";
  o.individual = options.text("cache") == "individual";
  o.k = options.integer("k");
  o.chunk = options.integer("chunk");
  o.sink = options.integer("sink");
  o.paper = options.text("fidelity") == "paper";
  if (o.sink > o.k) {
    user_error("--attention citrus: sink={}: must not be more than k={}", o.sink, o.k);
  }
  return std::make_unique<Citrus>(o, shape);
}

}  // namespace

MethodInfo citrus_method() {
  MethodInfo info;
  info.name = "citrus";
  info.summary = "reads a document by its question: keeps what the instruction attends to";
  info.when = "a question about a text of any length, in constant memory";
  info.keeps =
      "the rows that the question attends to while the document is read part by part; the rest is "
      "gone for good";
  info.harms =
      "a question that is not known before the document is read, and a second, different question";
  info.paper = "CItruS: Chunked Instruction-aware State Eviction for Long Sequence Modeling";
  info.options = kOptions;
  info.make = make;
  return info;
}

}  // namespace longhaul
