// AdaKV (Feng et al. 2024; docs/methods/adakv.md): the KV heads of a layer share one budget of
// rows. Another method scores the rows. Each head keeps a guaranteed number of rows, and the rest
// of the budget is used for the rows with the highest scores in all heads of the layer.

#include <utility>

#include "attention/methods/adakv/allocate_rows.h"
#include "attention/parts/wrapped_method.h"
#include "base/nth.h"
#include "ops/core/all_reduce.h"
#include "ops/core/fill.h"

namespace longhaul {
namespace {

struct AdaKv final : WrappedMethod {
  std::string_view method = "snapkv";
  std::string method_options;
  double safeguard = 0.2;
  void declare(OptionList& o) {
    o.choice(method, "method", {"snapkv", "pyramidkv", "keydiff", "expectedattention"},
             "whose scores and budget are divided");
    o.part_options(method_options, "method_options", "method",
                   "options of that method, joined by +: capacity=1024+window=16");
    o.real(safeguard, "safeguard", 0, 1, "share",
           "of its budget that every head keeps for sure, its window and sinks among it");
  }
  void fit(const ModelShape& shape) {
    wrap(MethodSpec::parse_part(method, method_options).make_method(shape));
    whole.own_rule = true;
  }

  void choose(const Eviction& due) override {
    if (due.layer <= latest_) waiting_ = 0;  // entries of a prompt that failed
    latest_ = due.last ? -1 : due.layer;
    int64_t held = 0;
    for (int list = 0; list < due.lists; ++list) held += due.rows(list);
    held = due.queue.sum_of_members(held);
    if (held > due.kept * due.lists * due.queue.ranks()) {
      WrappedMethod::choose(due);
      allocate(due);
      due.changed = true;
    }
    if (due.last) keep_allocated(due);
  }

 private:
  /// A layer whose budget has been divided on a device, and whose rows have not been evicted yet.
  /// The host reads the numbers of kept rows once for all layers.
  struct Allocated {
    int layer = 0;
    int first = 0, lists = 0;  ///< this device's lists among all lists of the layer
    std::vector<SharedSelection> selections;
    std::vector<RowList> kept;

    const RowList& own(int list) const { return nth(kept, first + list); }
  };

  /// Returns the scores of all lists that share the budget: the lists of this device, or of all
  /// devices in the order of ranks if several devices share the model.
  std::vector<View<const float>> shared_scores(const Eviction& due) {
    Queue& queue = due.queue;
    if (queue.communicator() == nullptr) return {due.scores.begin(), due.scores.end()};
    std::vector<int64_t> own;
    int64_t total = 0;
    for (int list = 0; list < due.lists; ++list) total += own.emplace_back(due.rows(list));
    own.push_back(total);
    // all_gather() needs equal sizes, so every device sends as many numbers as the device with the
    // most rows.
    const std::vector<int64_t> all_rows = queue.communicator()->all_gather(queue.rank(), own);
    const int64_t each = std::ssize(own);
    int64_t most = 0;
    for (int rank = 0; rank < queue.ranks(); ++rank) {
      most = std::max(most, nth(all_rows, rank * each + due.lists));
    }
    const View<float> padded = padded_scores_.resize(queue, most);
    fill(queue, padded, 0);
    int64_t at = 0;
    for (const View<float>& scores : due.scores) {
      copy(queue, scores, padded.part(at, scores.size()));
      at += scores.size();
    }
    const View<float> all = all_scores_.resize(queue, most * queue.ranks());
    all_gather<float>(queue, padded, all);
    std::vector<View<const float>> shared;
    for (int rank = 0; rank < queue.ranks(); ++rank) {
      at = most * rank;
      for (int list = 0; list < due.lists; ++list) {
        const int64_t rows = nth(all_rows, rank * each + list);
        shared.push_back(all.part(at, rows));
        at += rows;
      }
    }
    return shared;
  }

  /// Divides the layer's budget among its lists by the scores.
  void allocate(const Eviction& due) {
    RowsToKeep rows{due.plan.keep.sink, due.recent, due.kept};
    const auto floor = static_cast<int64_t>(safeguard * static_cast<double>(due.kept));
    const int64_t guaranteed = std::max<int64_t>(0, floor - rows.first - rows.last);
    const std::vector<View<const float>> scores = shared_scores(due);
    const int64_t sharing = std::ssize(scores);
    rows.count *= sharing;
    if (waiting_ == 0) {
      int64_t lists = 0;
      for (int layer = 0; layer < due.shape.layers; ++layer) lists += due.store.lists(layer);
      counts_.resize(due.queue, lists * due.queue.ranks());
      next_count_ = 0;
    }
    if (allocated_.size() == waiting_) allocated_.emplace_back();
    Allocated& layer = allocated_[waiting_];
    layer.layer = due.layer;
    layer.first = due.queue.rank() * due.lists;
    layer.lists = due.lists;
    layer.selections.resize(scores.size());
    layer.kept.resize(scores.size());
    allocate_rows(due.queue, scores, rows, guaranteed, layer.selections, layer.kept,
                  counts_.view().part(next_count_, sharing));
    if (layer.kept.front().count.empty()) {  // the host has divided the budget
      std::vector<KeptList> kept;
      for (int list = 0; list < due.lists; ++list) kept.push_back({list, layer.own(list)});
      return due.store.keep(due.layer, kept);
    }
    ++waiting_;
    next_count_ += sharing;
  }

  /// Evicts rows of all layers in allocated_. Waits if a device has divided the budgets.
  void keep_allocated(const Eviction& due) {
    if (waiting_ == 0) return;
    const std::vector<int32_t> counts = read_counts(due.queue, counts_.view().part(0, next_count_));
    int64_t next = 0;
    for (const Allocated& layer : std::span(allocated_).first(std::exchange(waiting_, 0))) {
      std::vector<KeptList> kept;
      for (int list = 0; list < layer.lists; ++list) {
        const int64_t rows = nth(counts, next + layer.first + list);
        kept.push_back({list, {layer.own(list).rows.part(0, rows), {}}});
      }
      next += std::ssize(layer.kept);
      due.store.keep(layer.layer, kept);
    }
  }

  int latest_ = -1;  ///< last layer so far of an incomplete eviction
  std::vector<Allocated> allocated_;
  size_t waiting_ = 0;                       ///< number of entries of `allocated_` in use
  Array<float> padded_scores_, all_scores_;  ///< scores gathered from all devices
  Array<int32_t> counts_;                    ///< numbers of kept rows of all lists of the model
  int64_t next_count_ = 0;                   ///< number of used entries of `counts_`
};

}  // namespace

MethodInfo adakv_method() {
  MethodInfo info = method_info<AdaKv>({.name = "adakv"});
  info.summary = "divides a layer's budget among its heads by the scores of another method";
  info.when = "as the method whose scores it uses, at small budgets";
  info.keeps =
      "of each prompt as many rows as that method, more in heads whose attention is spread";
  info.harms = "what that method harms; heads with low scores keep little more than their window";
  info.paper =
      "Ada-KV: Optimizing KV Cache Eviction by Adaptive Budget Allocation, arXiv 2407.11550";
  info.covers = {"", "method=keydiff"};
  info.small = {{"method_options=capacity=60+window=8", kNoBound, true},
                {"method_options=capacity=24+window=8", kNoBound, true},
                {"method=keydiff,method_options=capacity=24,safeguard=0.5", kNoBound, true}};
  return info;
}

}  // namespace longhaul
