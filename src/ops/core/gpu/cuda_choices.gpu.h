#pragma once
// CUDA implementation of the operations of ops/core/device_ops.h on scores and softmax maps, and of
// the choices based on them.

#include "ops/attention/gather_keys.gpu.h"
#include "ops/attention/scratch_pages.gpu.h"
#include "ops/attention/staged_keys.gpu.h"
#include "ops/choose/antidiagonals.gpu.h"
#include "ops/choose/flex_blocks.gpu.h"
#include "ops/choose/tile_keys.gpu.h"
#include "ops/choose/votes.gpu.h"
#include "ops/core/gpu/block_ops.gpu.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

class CudaChoices : public BlockOps {
 public:
  bool column_sums(const AttendCall& call, std::span<const AttendTask> tasks,
                   std::span<const ColumnTarget> targets) override;
  bool line_sums(const AttendCall& call, std::span<const AttendTask> tasks,
                 std::span<const LineSums> sums) override;
  bool block_mass(const AttendCall& call, std::span<const AttendTask> tasks, int block,
                  std::span<const View<float>> masses) override;
  bool tile_maps(const AttendCall& call, std::span<const MapTile> tiles) override;
  bool top_keys(const TopKeysCall& call, std::span<const TopKeysTask> tasks) override;
  int gather_lists(std::span<const PagedRows> lists, int64_t keys, int64_t rows,
                   std::span<PagedRows> to) override;
  bool mean_keys(const PagedRows& rows, int64_t count, int block, View<float> out) override;
  bool add_query_moments(View<const float> q, int64_t rows, int heads, int head_dim,
                         QueryMoments& moments) override;
  bool expected_attention(const ExpectedQueries& queries, const PagedRows& rows, int64_t first_row,
                          int head_begin, int head_count, View<float> scores) override;
  bool key_difference(const PagedRows& rows, View<float> scores) override;
  bool fill(View<float> x, float value) override;
  bool add_lists(View<const float> x, View<float> out) override;
  bool mean_rows(View<const float> x, View<float> out) override;
  bool pool_scores(View<const float> scores, int width, Pooling pooling, View<float> out) override;
  bool add_seen(int64_t rows, std::span<const View<float>> columns) override;
  bool select_rows(std::span<const View<const float>> scores, const RowsToKeep& keep,
                   std::span<const View<int32_t>> rows) override;
  bool deal_rows(const DealtRows& dealt) override;
  bool steady_scores(std::span<const SteadyList> lists) override;
  bool judges_rules() const override { return true; }
  void judge_rules(const HybridRules& rules, std::span<const JudgedList> lists,
                   View<int32_t> verdicts) override;
  void list_rules(const HybridRules& rules, std::span<const JudgedList> lists,
                  std::span<const View<int32_t>> rows) override;
  bool most_voted(std::span<const DeviceVote> votes) override;
  bool expand_spans(std::span<const DeviceSpans> spans, int64_t span, int64_t first) override;
  bool choose_lines(std::span<const LineTask> tasks, int tile) override;
  bool list_tile_keys(int tile, int page_rows, std::span<const DeviceTile> tiles) override;
  bool reads_masks(const PagedRows& rows) const override;
  bool copy_columns(std::span<CopiedColumns> heads) override;
  void list_tile_pages(std::span<const TilePages> tiles) override;
  bool choose_flex_blocks(const TiledRows& rows, const FlexRule& rule,
                          std::span<const FlexHead> heads) override;
  bool lay_out_groups(View<const float> q, int64_t groups, int stride, int heads, int head_dim,
                      View<uint8_t> rounded) override;
  void see_all_blocks(View<uint8_t> seen) override;
  void choose_antidiagonals(const GroupMasses& of,
                            std::span<const AntidiagonalHeads> heads) override;

 protected:
  explicit CudaChoices(GpuQueue& queue) : BlockOps(queue) {}

  StagedKeys staged_{queue_};

 private:
  ScoreScratch scores_;
  std::vector<SelectTask> selected_;
  std::vector<VoteTask> votes_;
  std::vector<ExpandTask> spans_;
  std::vector<LinesTask> lines_;
  std::vector<TileTask> tiles_;
  std::vector<PageTask> pages_;
  ScratchPages copies_{queue_};
  std::vector<GatherRecord> gathered_;
  Room records_{queue_};
  std::vector<FlexHeadTask> flex_;
  std::vector<AntidiagonalTask> antidiagonals_;
};

}  // namespace longhaul::cuda
