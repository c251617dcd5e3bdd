// XAttention (docs/methods/xattention.md): blocks of 128 x 128 are scored by their antidiagonals. S
// queries, the last first, laid end to end against S keys laid end to end give the sum of S
// products on an antidiagonal; softmax over such groups of keys, summed over a block, is its score.
// Every block of rows then takes key blocks, the best first, until they hold a share tau of its
// scores.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attention/head_thresholds.h"
#include "attention/registry.h"
#include "attention/sparse_prefill.h"
#include "base/error.h"
#include "base/parallel.h"
#include "ops/block_mass.h"
#include "ops/mass_cut.h"
#include "ops/ranking.h"

namespace longhaul {
namespace {

constexpr int kBlock = 128;
constexpr int64_t kRowsAtOnce = 4096;     // whose scores exist at a time
constexpr int kMostGroupElements = 2048;  // of S keys laid end to end

class XAttention final : public SparsePrefill {
 public:
  XAttention(const MethodOptions& options, const ModelShape& shape)
      : SparsePrefill(kBlock, options.integer("dense_below")),
        shape_(shape),
        stride_(static_cast<int>(std::stoi(options.text("stride")))),
        norm_(options.real("norm")) {
    if (stride_ * shape.head_dim > kMostGroupElements) {
      user_error("--attention xattention: stride={}: with heads of {} it must be at most {}",
                 stride_, shape.head_dim, kMostGroupElements / shape.head_dim);
    }
    const std::string& file = options.text("thresholds");
    if (file.empty()) {
      thresholds_.assign(
          static_cast<size_t>(shape.layers),
          std::vector<double>(static_cast<size_t>(shape.heads), options.real("tau")));
    } else {
      thresholds_ = read_thresholds(file, stride_, shape.layers, shape.heads);
    }
  }

  /// Masses and laid-out queries of the groups whose scores exist at a time.
  size_t working_bytes(int64_t tokens, int chunk) const override {
    const int64_t rows = std::min({kRowsAtOnce, tokens, int64_t{chunk}});
    const int64_t masses = (rows / stride_ + 1) * block_count(tokens, kBlock);
    const int64_t queries = (rows + stride_) * shape_.head_dim;
    return static_cast<size_t>(shape_.heads * (masses + queries)) * sizeof(float);
  }

 private:
  /// Groups of S rows are counted from the context's first token; a group that the step holds only
  /// in part takes no part in the scores.
  bool estimate(LayerStep& step) override {
    const int64_t first = (step.begin + stride_ - 1) / stride_;
    const int64_t end = (step.begin + step.rows) / stride_;
    if (first >= end) return false;
    const int64_t tile = step.begin / kBlock;
    const int64_t tiles = (step.begin + step.rows - 1) / kBlock + 1 - tile;
    chosen_.assign(static_cast<size_t>(shape_.heads * tiles), {});
    tiles_ = tiles;
    for (int64_t group = first; group < end;) {
      const int64_t row = group * stride_;
      const int64_t stop = std::min(end, (row / kBlock * kBlock + kRowsAtOnce) / stride_);
      weigh_groups(step, group, stop);
      choose_blocks(step, group, stop);
      group = stop;
    }
    return true;
  }

  /// mass_: what groups [first, end) of rows pay to every block of keys, by the softmax of their
  /// antidiagonal sums over the groups of keys up to their own.
  void weigh_groups(LayerStep& step, int64_t first, int64_t end) {
    const int width = stride_ * shape_.head_dim, group = step.group(), per_block = kBlock / stride_;
    const int64_t rows = end - first, blocks = block_count(end, per_block);
    lay_out_queries(step, first, rows);
    const float* queries[] = {queries_.data()};
    std::vector<float> lse(static_cast<size_t>(rows * shape_.heads));
    AttendCall call = step.call(queries);
    call.lse = lse.data();
    call.head_dim = width;
    call.scale = static_cast<float>(shape_.scale / (stride_ * norm_));
    std::vector<KeySegment> segments(static_cast<size_t>(step.kv_heads));
    std::vector<AttendTask> tasks;
    std::vector<float*> masses;
    const int64_t each = rows * group * blocks;
    mass_.resize(static_cast<size_t>(each * step.kv_heads));
    for (int h = 0; h < step.kv_heads; ++h) {
      KeySegment& keys = segments[static_cast<size_t>(h)];
      keys.rows = step.store->rows(step.layer, h);
      keys.rows.page_rows /= stride_;  // S keys of a page, one after the other, as one
      keys.rows.head_dim = width;
      keys.count = end;
      tasks.push_back({h * group, group, 0, static_cast<int>(rows), first, {&keys, 1}});
      masses.push_back(mass_.data() + h * each);
    }
    block_mass(call, tasks, per_block, masses);
  }

  /// For every head and block of rows, as far as groups [first, end) of them go: its key blocks.
  void choose_blocks(const LayerStep& step, int64_t first, int64_t end) {
    const int group = step.group(), per_block = kBlock / stride_;
    const int64_t rows = end - first, blocks = block_count(end, per_block);
    const int64_t first_tile = first / per_block, last_tile = (end - 1) / per_block;
    parallel_for(shape_.heads * (last_tile - first_tile + 1), [&](int64_t i, int) {
      const int head = static_cast<int>(i % shape_.heads);
      const int64_t tile = first_tile + i / shape_.heads;
      const int64_t from = std::max(first, tile * per_block),
                    to = std::min(end, (tile + 1) * per_block);
      std::vector<float> scores(static_cast<size_t>(tile + 1));
      const float* masses = mass_.data() + head / group * rows * group * blocks;
      for (int64_t g = from; g < to; ++g) {
        const float* row = masses + ((g - first) * group + head % group) * blocks;
        for (size_t b = 0; b < scores.size(); ++b) scores[b] += row[b];
      }
      const double tau = thresholds_[static_cast<size_t>(step.layer)][static_cast<size_t>(head)];
      // All of them: sums that round up must not leave one out.
      const double wanted = tau >= 1 ? INFINITY : tau * static_cast<double>(to - from);
      chosen(head, tile - step.begin / kBlock) = best_blocks(scores, wanted);
    });
  }

  /// Row g, head h: rows first * S + g * S + S - 1, ..., first * S + g * S.
  void lay_out_queries(LayerStep& step, int64_t first, int64_t rows) {
    const int dim = shape_.head_dim, heads = shape_.heads;
    queries_.resize(static_cast<size_t>(rows * heads * stride_ * dim));
    const float* q = step.rotated_q() + (first * stride_ - step.begin) * heads * dim;
    parallel_ranges(rows, 4, [&](int64_t begin, int64_t end) {
      for (int64_t g = begin; g < end; ++g) {
        for (int h = 0; h < heads; ++h) {
          float* out = queries_.data() + (g * heads + h) * stride_ * dim;
          for (int r = stride_ - 1; r >= 0; --r, out += dim) {
            std::copy_n(q + ((g * stride_ + r) * heads + h) * dim, dim, out);
          }
        }
      }
    });
  }

  /// The first and the last block; then the best of the others while those before hold less than
  /// `wanted`.
  static std::vector<int32_t> best_blocks(std::vector<float>& scores, double wanted) {
    const size_t last = scores.size() - 1;
    const double forced = scores[0] + (last > 0 ? scores[last] : 0.0f);
    scores[0] = scores[last] = 0.0f;
    int64_t count = 0;
    if (forced < wanted) {
      std::vector<float> scratch = scores;
      const double left = std::nextafter(wanted - forced, 0.0);
      count = count_within_mass(scratch, left) + 1;
    }
    const auto others = std::count_if(scores.begin(), scores.end(), [](float s) { return s > 0; });
    scores[0] = scores[last] = INFINITY;
    return top_indices(scores, std::min<int64_t>(count, others) + (last > 0 ? 2 : 1));
  }

  void choose(const LayerStep& step, const RowTile& tile, TileKeys& keys) const override {
    const int64_t own = tile.position / kBlock;
    const auto& blocks =
        chosen_[static_cast<size_t>(tile.head * tiles_ + own - step.begin / kBlock)];
    if (blocks.empty()) return keys.add(0, (own + 1) * kBlock);  // no whole group: all
    for (const int32_t b : blocks) keys.add(int64_t{b} * kBlock, int64_t{b + 1} * kBlock);
  }

  std::vector<int32_t>& chosen(int head, int64_t tile) {
    return chosen_[static_cast<size_t>(head * tiles_ + tile)];
  }

  ModelShape shape_;
  int stride_;
  double norm_;
  HeadThresholds thresholds_;
  std::vector<float> queries_;                // [groups, heads, S * head_dim]
  std::vector<float> mass_;                   // [kv_heads][groups, group, blocks]
  std::vector<std::vector<int32_t>> chosen_;  // [heads, tiles of the step]
  int64_t tiles_ = 0;
};

constexpr OptionInfo kOptions[] = {
    {"tau", OptionKind::kReal, "0.9", "", 0, 1, "", "share of its scores that a row block takes",
     "no thresholds"},
    {"stride", OptionKind::kChoice, "8", "tokens", 0, 0, "1|2|4|8|16|32",
     "length of antidiagonals; longer is cheaper and coarser"},
    {"norm", OptionKind::kReal, "1", "", 0.01, 100, "", "divides the scores before their softmax"},
    {"thresholds", OptionKind::kFile, "", "", 0, 0, "",
     "JSON file with a tau for every layer and head, instead"},
    {"dense_below", OptionKind::kInteger, "4096", "tokens", 0, 1 << 30, "",
     "rows before this depth see everything"},
};

}  // namespace

MethodInfo xattention_method() {
  MethodInfo info;
  info.name = "xattention";
  info.summary = "keeps every key; rows of a prompt see the blocks with the heaviest antidiagonals";
  info.when = "faster prefill of long prompts within the trained length, no calibration";
  info.keeps =
      "every key and value; while a prompt is read, rows see only the blocks with the heaviest "
      "antidiagonals";
  info.harms =
      "short prompts, where choosing blocks costs more than it saves, and single keys that a "
      "block's sum hides";
  info.paper =
      "Xu et al. 2025, XAttention: Block Sparse Attention with Antidiagonal Scoring, "
      "arXiv 2503.16428";
  info.options = kOptions;
  info.make = [](const MethodOptions& o, const ModelShape& s) -> std::unique_ptr<AttentionMethod> {
    return std::make_unique<XAttention>(o, s);
  };
  return info;
}

}  // namespace longhaul
