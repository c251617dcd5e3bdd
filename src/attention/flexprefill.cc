// FlexPrefill (docs/methods/flexprefill.md): in every pass each query head chooses blocks of 128
// keys by itself. Columns and diagonals of the last 128 rows are taken until they hold a share
// gamma of the attention; a head whose columns can be told from mean vectors (a Jensen-Shannon
// distance below tau) instead takes pairs of blocks by the product of their means, until gamma
// again.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attention/registry.h"
#include "attention/sparse_prefill.h"
#include "base/parallel.h"
#include "ops/mass_cut.h"
#include "ops/mean_keys.h"
#include "ops/ranking.h"

namespace longhaul {
namespace {

constexpr int kBlock = 128;
constexpr int kLastRows = 128;

int64_t blocks_of(int64_t tokens) { return (tokens + kBlock - 1) / kBlock; }

/// Sums of `lines` [keys] by 128, [blocks]: of columns from the first key on; of diagonals, from
/// the farthest on, so that the last bin is the nearest.
std::vector<float> binned(std::span<const float> lines, bool from_the_end) {
  std::vector<float> bins(static_cast<size_t>(blocks_of(static_cast<int64_t>(lines.size()))));
  for (size_t i = 0; i < lines.size(); ++i) {
    bins[i / kBlock] += lines[from_the_end ? lines.size() - 1 - i : i];
  }
  return bins;
}

/// Square root of the Jensen-Shannon divergence of two distributions, natural logarithm.
double distance_of(std::span<const float> p, std::span<const float> q) {
  double sum = 0;
  const auto part = [](double x, double middle) { return x > 0 ? x * std::log(x / middle) : 0; };
  for (size_t i = 0; i < p.size(); ++i) {
    const double middle = (static_cast<double>(p[i]) + q[i]) / 2;
    sum += (part(p[i], middle) + part(q[i], middle)) / 2;
  }
  return std::sqrt(std::max(0.0, sum));
}

/// The blocks that a head's tiles see.
struct Blocks {
  std::vector<int32_t> columns;              ///< key blocks
  std::vector<int32_t> diagonals;            ///< in blocks before a tile's own
  std::vector<std::vector<int32_t>> chosen;  ///< per tile of the step; empty: none of its own
};

class FlexPrefill final : public SparsePrefill {
 public:
  FlexPrefill(const MethodOptions& options, const ModelShape& shape)
      : SparsePrefill(kBlock, options.integer("dense_below")),
        shape_(shape),
        gamma_(options.real("gamma") < 1 ? options.real("gamma") : INFINITY),
        tau_(options.real("tau")),
        least_(options.integer("min_budget")) {}

  size_t working_bytes(int64_t tokens, int) const override {
    return LastRows::bytes_for(shape_, tokens);
  }

 private:
  bool estimate(LayerStep& step) override {
    const int64_t keys = step.begin + step.rows;
    if (keys <= std::max<int64_t>(2 * kBlock, least_)) return false;
    const float* queries[] = {step.rotated_q()};
    last_.look(step, queries, kLastRows);
    average_keys(step);
    heads_.resize(static_cast<size_t>(shape_.heads));
    parallel_for(shape_.heads, [&](int64_t head, int) {
      heads_[static_cast<size_t>(head)] = choose_for(step, static_cast<int>(head));
    });
    return true;
  }

  Blocks choose_for(const LayerStep& step, int head) const {
    const float* block_means = means(head / step.group());
    std::vector<float> columns(last_.columns(head).begin(), last_.columns(head).end());
    std::vector<float> diagonals(last_.diagonals(head).begin(), last_.diagonals(head).end());
    for (auto* lines : {&columns, &diagonals}) {
      for (float& x : *lines) x /= static_cast<float>(last_.rows());
    }
    std::vector<float> column_bins = binned(columns, false);
    std::vector<float> diagonal_bins = binned(diagonals, true);
    const bool query_aware = distance_of(coarse_row(step, head, block_means), column_bins) < tau_;

    const int64_t least = std::max<int64_t>(1, blocks_of(least_));
    const int64_t vertical = query_aware ? least : std::max(least, budget(columns));
    const int64_t slash = query_aware ? least : std::max(least, budget(diagonals));
    Blocks blocks;
    column_bins.front() = diagonal_bins.back() = INFINITY;  // always kept
    blocks.columns = top_indices(column_bins, vertical);
    blocks.diagonals = top_indices(diagonal_bins, slash);
    const int32_t nearest = static_cast<int32_t>(diagonal_bins.size()) - 1;
    for (int32_t& d : blocks.diagonals) d = nearest - d;
    if (query_aware) blocks.chosen = pairs(step, head, block_means);
    return blocks;
  }

  /// Blocks that the entries of `lines` fill which hold gamma of the attention, and one more.
  int64_t budget(std::vector<float>& lines) const {
    return (1 + count_within_mass(lines, gamma_)) / kBlock + 1;
  }

  /// What the mean of the last rows pays to the means of blocks of keys.
  std::vector<float> coarse_row(const LayerStep& step, int head, const float* block_means) const {
    const int dim = shape_.head_dim;
    std::vector<float> query(static_cast<size_t>(dim));
    mean_query(step.workspace->rotated_q.data(), shape_.heads, dim, head, step.rows - last_.rows(),
               step.rows, query.data());
    std::vector<float> paid(static_cast<size_t>(blocks_of(step.begin + step.rows)));
    mean_scores(query.data(), block_means, static_cast<int64_t>(paid.size()), dim, shape_.scale,
                paid.data());
    softmax_of(paid);
    return paid;
  }

  /// Per tile of the step: key blocks of the best pairs of all its tiles, by their means.
  std::vector<std::vector<int32_t>> pairs(const LayerStep& step, int head,
                                          const float* block_means) const {
    const int dim = shape_.head_dim;
    const int64_t first = step.begin / kBlock, blocks = blocks_of(step.begin + step.rows);
    std::vector<float> map(static_cast<size_t>((blocks - first) * blocks));
    std::vector<float> query(static_cast<size_t>(dim));
    for (int64_t tile = first; tile < blocks; ++tile) {
      const int64_t from = std::max<int64_t>(0, tile * kBlock - step.begin);
      const int64_t to = std::min<int64_t>(step.rows, (tile + 1) * kBlock - step.begin);
      mean_query(step.workspace->rotated_q.data(), shape_.heads, dim, head, from, to, query.data());
      const auto row = std::span(map).subspan(static_cast<size_t>((tile - first) * blocks),
                                              static_cast<size_t>(tile + 1));
      mean_scores(query.data(), block_means, tile + 1, dim, shape_.scale, row.data());
      softmax_of(row);
    }
    std::vector<float> scratch = map;
    const double mass = gamma_ * static_cast<double>(blocks - first);
    const int64_t count = count_within_mass(scratch, mass);
    std::vector<std::vector<int32_t>> chosen(static_cast<size_t>(blocks - first));
    for (const int32_t at : top_indices(map, count)) {
      chosen[static_cast<size_t>(at / blocks)].push_back(static_cast<int32_t>(at % blocks));
    }
    return chosen;
  }

  void choose(const LayerStep& step, const RowTile& tile, TileKeys& keys) const override {
    const Blocks& blocks = heads_[static_cast<size_t>(tile.head)];
    const int64_t own = tile.position / kBlock;
    std::vector<bool> seen(static_cast<size_t>(own + 1));
    const auto see = [&](int64_t block) {
      if (block >= 0 && block <= own) seen[static_cast<size_t>(block)] = true;
    };
    for (const int32_t block : blocks.columns) see(block);
    for (const int32_t back : blocks.diagonals) see(own - back);
    if (!blocks.chosen.empty()) {
      const int64_t row = own - step.begin / kBlock;
      for (const int32_t block : blocks.chosen[static_cast<size_t>(row)]) see(block);
    }
    for (int64_t b = 0; b <= own; ++b) {
      if (seen[static_cast<size_t>(b)]) keys.add(b * kBlock, (b + 1) * kBlock);
    }
  }

  ModelShape shape_;
  double gamma_;  // infinite for 1: sums that round up must not leave anything out
  double tau_;
  int64_t least_;  // tokens
  LastRows last_;
  std::vector<Blocks> heads_;
};

constexpr OptionInfo kOptions[] = {
    {"gamma", OptionKind::kReal, "0.9", "", 0, 1, "", "share of the attention that is aimed at"},
    {"tau", OptionKind::kReal, "0.1", "", 0, 1, "",
     "distance below which a head chooses pairs of blocks by their means; 0: none does"},
    {"min_budget", OptionKind::kInteger, "512", "tokens", 1, 1 << 24, "",
     "least columns, and least diagonals, that a head takes; shorter contexts are dense"},
    {"dense_below", OptionKind::kInteger, "4096", "tokens", 0, 1 << 30, "",
     "rows before this depth see everything"},
};

}  // namespace

MethodInfo flexprefill_method() {
  MethodInfo info;
  info.name = "flexprefill";
  info.summary =
      "keeps every key; heads read a prompt by blocks that hold a share of the attention";
  info.when = "faster prefill of long prompts within the trained length, no calibration";
  info.keeps =
      "every key and value; while a prompt is read, each head computes only blocks that hold a "
      "share of its attention";
  info.harms =
      "short prompts, where choosing blocks costs more than it saves, and heads whose needs the "
      "last rows of the prompt do not show";
  info.paper =
      "Lai et al. 2025, FlexPrefill: A Context-Aware Sparse Attention Mechanism for Efficient "
      "Long-Sequence Inference, arXiv 2502.20766";
  info.options = kOptions;
  info.make = [](const MethodOptions& o, const ModelShape& s) -> std::unique_ptr<AttentionMethod> {
    return std::make_unique<FlexPrefill>(o, s);
  };
  return info;
}

}  // namespace longhaul
