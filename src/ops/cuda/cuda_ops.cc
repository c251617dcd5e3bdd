#include "ops/cuda/cuda_ops.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "ops/cuda/antidiagonals.h"
#include "ops/cuda/attend.h"
#include "ops/cuda/block_mass.h"
#include "ops/cuda/column_sums.h"
#include "ops/cuda/cublas.h"
#include "ops/cuda/device_error.h"
#include "ops/cuda/elementwise.h"
#include "ops/cuda/expand.h"
#include "ops/cuda/expected_attention.h"
#include "ops/cuda/flex_blocks.h"
#include "ops/cuda/gpu_queue.h"
#include "ops/cuda/kv.h"
#include "ops/cuda/line_sums.h"
#include "ops/cuda/matrix.h"
#include "ops/cuda/matvec.h"
#include "ops/cuda/rms_norm.h"
#include "ops/cuda/rope.h"
#include "ops/cuda/score_vectors.h"
#include "ops/cuda/select_rows.h"
#include "ops/cuda/stored_keys.h"
#include "ops/cuda/tile_keys.h"
#include "ops/cuda/tile_maps.h"
#include "ops/cuda/top_keys.h"
#include "ops/cuda/votes.h"

namespace longhaul::cuda {
namespace {

/// Memory that grows, of one use.
struct Room {
  explicit Room(GpuQueue& of) : queue(of) {}
  ~Room() {
    if (data != nullptr) queue.release(data);
  }
  void at_least(size_t bytes) {
    if (bytes <= size) return;
    if (data != nullptr) queue.release(std::exchange(data, nullptr));
    data = queue.allocate(bytes);
    size = bytes;
  }

  GpuQueue& queue;
  void* data = nullptr;
  size_t size = 0;
};

class OwnMatrix : public DeviceMatrix {
 public:
  explicit OwnMatrix(Matrix&& matrix) : matrix_(std::move(matrix)) {}
  int64_t rows() const override { return matrix_.rows(); }
  int64_t cols() const override { return matrix_.cols(); }
  size_t bytes() const override { return matrix_.bytes(); }
  MatrixView view() const { return matrix_.view(); }

 private:
  Matrix matrix_;
};

/// bf16; few rows in int8, too.
class OwnInput : public DeviceInput {
 public:
  explicit OwnInput(GpuQueue& queue) : bf16_(queue), int8_(queue) {}

  void resize(int64_t rows, int64_t cols) {
    rows_ = rows;
    cols_ = cols;
    bf16_.at_least(static_cast<size_t>(rows * cols) * sizeof(uint16_t));
    if (both()) int8_.at_least(int8_bytes(rows, cols));
  }
  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  /// Else there is bf16 alone: many rows, or rows that no block type has.
  bool both() const { return rows_ <= kMostMatvecRows && cols_ % 32 == 0; }
  uint16_t* bf16() const { return static_cast<uint16_t*>(bf16_.data); }
  ProductRows forms() const {
    return {bf16(), both() ? int8_rows_in(int8_.data, rows_, cols_) : Int8Rows{}};
  }

 private:
  int64_t rows_ = 0, cols_ = 0;
  Room bf16_, int8_;
};

MatrixView view_of(const DeviceMatrix& matrix) {
  return static_cast<const OwnMatrix&>(matrix).view();
}

PageTable table_of(const PagedRows& rows) {
  LH_ASSERT(rows.listed != nullptr);
  return const_cast<PageTable>(rows.listed);
}

KvForm form_of(const PagedRows& rows) { return {rows.type, rows.head_dim, rows.page_rows}; }

class CudaOps : public DeviceOps {
 public:
  explicit CudaOps(GpuQueue& queue) : queue_(queue) {}

  bool attend(const AttendCall& call, std::span<const AttendTask> tasks) override {
    for (const AttendTask& task : tasks) {
      for (const KeySegment& s : task.segments) {
        if (!can_attend(call.head_dim, s.rows.page_rows, s.rows.type)) return false;
      }
    }
    const SlabRange& slabs = queue_.slabs();
    // Pages of 64 bf16 keys and values, as DevicePages lays them.
    const size_t stride = std::bit_ceil(256 * static_cast<size_t>(call.head_dim));
    attention_.pages = {slabs.base(), slabs.bytes(), stride};
    cuda::attend(stream(), call, tasks, attention_);
    return true;
  }
  bool merge_attention(View<const float> other_out, View<const float> other_lse, int64_t rows,
                       int heads, int head_dim, View<float> out, View<float> lse) override {
    cuda::merge_attention(stream(), other_out.address(), other_lse.address(), rows * heads,
                          head_dim, out.address(), lse.address());
    return true;
  }

  bool line_sums(const AttendCall& call, std::span<const AttendTask> tasks,
                 std::span<const LineSums> sums) override {
    return cuda::line_sums(stream(), call, tasks, sums, scores_);
  }
  bool block_mass(const AttendCall& call, std::span<const AttendTask> tasks, int block,
                  std::span<const View<float>> masses) override {
    return cuda::block_mass(stream(), call, tasks, block, masses, scores_);
  }
  bool tile_maps(const AttendCall& call, std::span<const MapTile> tiles) override {
    return cuda::tile_maps(stream(), call, tiles, scores_);
  }
  bool top_keys(const TopKeysCall& call, std::span<const TopKeysTask> tasks) override {
    return cuda::top_keys(stream(), call, tasks, scores_);
  }
  bool mean_keys(const PagedRows& rows, int64_t count, int block, View<float> out) override {
    return cuda::mean_keys(stream(), rows, count, block, out);
  }
  bool add_query_moments(View<const float> q, int64_t rows, int heads, int head_dim,
                         QueryMoments& moments) override {
    return cuda::add_query_moments(stream(), q, rows, heads, head_dim, moments);
  }
  bool expected_attention(const ExpectedQueries& queries, const PagedRows& rows, int64_t first_row,
                          int head_begin, int head_count, View<float> scores) override {
    return cuda::expected_attention(stream(), queries, rows, first_row, head_begin, head_count,
                                    scores, scores_);
  }
  bool key_difference(const PagedRows& rows, View<float> scores) override {
    return !scores.place().host() && cuda::key_difference(stream(), rows, scores, scores_);
  }

  bool rotations(const RopeTable& table, int64_t first, int64_t count, View<float> cosine,
                 View<float> sine) override {
    const std::vector<double>& frequency = table.inverse_frequency;
    const double* const there = upload(std::span<const double>(frequency), frequencies_);
    rope_angles(stream(), there, static_cast<int>(frequency.size()), table.attention_factor, first,
                count, cosine.address(), sine.address());
    return true;
  }
  bool rotate(const longhaul::Rotations& r, int64_t position, int64_t step, View<const float> x,
              int64_t rows, int heads, int head_dim, View<float> y) override {
    const int64_t stride = int64_t{heads} * head_dim;
    const Rotations rotations{r.first, r.count, r.rotary_dim, r.cosine, r.sine};
    const HeadRows from{x.address(), rows, heads, head_dim, stride};
    (step == 0 ? apply_rope_constant : apply_rope)(stream(), rotations, position, from, y.address(),
                                                   stride);
    return true;
  }

  bool fill(View<float> x, float value) override {
    if (x.place().host()) return false;
    cuda::fill(stream(), x.address(), x.size(), value);
    return true;
  }
  bool add_lists(View<const float> x, View<float> out) override {
    if (out.empty() || x.place().host() || out.place().host()) return false;
    cuda::add_lists(stream(), x.address(), x.size() / out.size(), out.size(), out.address());
    return true;
  }

  bool mean_rows(View<const float> x, View<float> out) override {
    if (x.empty() || x.place().host() || out.place().host()) return false;
    cuda::mean_rows(stream(), x.address(), x.size() / out.size(), out.size(), out.address());
    return true;
  }
  bool pool_scores(View<const float> scores, int width, Pooling pooling, View<float> out) override {
    if (scores.place().host() || out.place().host()) return false;
    cuda::pool_scores(stream(), scores.address(), scores.size(), width, pooling == Pooling::kMax,
                      out.address());
    return true;
  }
  bool add_seen(int64_t rows, View<float> column) override {
    if (column.place().host()) return false;
    cuda::add_seen(stream(), rows, column.address(), column.size());
    return true;
  }
  bool select_rows(View<const float> scores, const RowsToKeep& keep, View<int32_t> rows) override {
    if (scores.place().host() || rows.place().host()) return false;
    const SelectTask task{scores.address(), scores.size(), keep.first,
                          keep.last,        keep.count,    rows.address()};
    return cuda::select_rows(stream(), {&task, 1}, scores_);
  }

  bool most_voted(const DeviceVote& vote) override {
    if (vote.votes.place().host()) return false;
    const auto words = [](View<int32_t> x) { return reinterpret_cast<uint32_t*>(x.address()); };
    cuda::most_voted(stream(), {vote.votes.address(), vote.votes.size(), vote.numbers, vote.k,
                                words(vote.counters), words(vote.marks), words(vote.voted),
                                vote.found.address(), vote.rows.address(), vote.count.address()});
    return true;
  }
  bool expand_spans(const RowList& chosen, int64_t span, int64_t end, int64_t first,
                    View<int32_t> rows, View<int32_t> count) override {
    if (chosen.rows.place().host()) return false;
    cuda::expand_spans(stream(), {chosen.rows.address(), chosen.count.address(), chosen.most(),
                                  span, end, first, rows.address(), count.address()});
    return true;
  }

  bool choose_lines(std::span<const LineTask> tasks, int tile) override {
    lines_.clear();
    for (const LineTask& task : tasks) {
      LineChoice& chosen = *task.chosen;
      if (task.columns.place().host() || task.diagonals.place().host()) return false;
      const auto select = [](View<const float> scores, int64_t forced, int64_t count,
                             View<int32_t> rows) {
        return SelectTask{
            scores.address(),        scores.size(), std::min(forced, scores.size()), 0,
            std::max(forced, count), rows.address()};
      };
      const View<int32_t> distances = chosen.diagonal_rows.rows.view();
      lines_.push_back(
          {select(task.columns, kForcedColumns, task.vertical, chosen.column_rows.rows.view()),
           select(task.diagonals, kForcedDiagonals, task.slash, distances),
           {distances.address(), static_cast<int32_t>(distances.size()), tile,
            chosen.runs.view().address(), chosen.run_count.view().address()}});
    }
    cuda::choose_lines(stream(), lines_, scores_);
    return true;
  }
  bool list_tile_keys(int tile, int page_rows, std::span<const DeviceTile> tiles) override {
    tiles_.clear();
    for (const DeviceTile& each : tiles) {
      TileTask task{};
      if (const LineChoice* lines = each.rule->lines) {
        if (lines->columns.rows.place().host()) return false;
        task.columns = lines->columns.rows.address();
        task.column_count = static_cast<int32_t>(lines->columns.most());
        task.runs = lines->runs.view().address();
        task.run_count = lines->run_count.view().address();
      } else {
        task.blocks = each.blocks.address();
      }
      task.own = each.own;
      task.position = each.position;
      task.tile = tile;
      task.pages = tile / page_rows;
      task.own_keys = each.own_keys;
      task.index = each.listed.address();
      task.counts = each.counts.address();
      tiles_.push_back(task);
    }
    cuda::list_tile_keys(stream(), tiles_, scores_);
    return true;
  }

  bool choose_flex_blocks(const TiledRows& rows, const FlexRule& rule,
                          std::span<const FlexHead> heads) override {
    if (rows.queries.place().host() || rows.head_dim > kMostFlexDim) return false;
    flex_.clear();
    for (const FlexHead& head : heads) {
      flex_.push_back({head.head, head.columns.address(), head.diagonals.address(),
                       head.means.address(), head.seen.address()});
    }
    const TileGrid& grid = rows.grid;
    const FlexCall call{rows.queries.address(),
                        rows.heads,
                        rows.head_dim,
                        grid.tile,
                        grid.begin,
                        grid.rows,
                        rule.mass,
                        rule.distance,
                        rule.least,
                        rule.scale,
                        rule.last_rows};
    cuda::choose_flex_blocks(stream(), call, flex_, scores_);
    return true;
  }
  bool lay_out_groups(View<const float> q, int64_t groups, int stride, int heads, int head_dim,
                      View<float> out) override {
    if (q.place().host()) return false;
    cuda::lay_out_groups(stream(), q.address(), groups, stride, heads, head_dim, out.address());
    return true;
  }
  void see_all_blocks(View<uint8_t> seen) override {
    check(cudaMemsetAsync(seen.address(), 1, static_cast<size_t>(seen.size()), stream()), "memset");
  }
  void choose_antidiagonals(const GroupMasses& of,
                            std::span<const AntidiagonalHeads> heads) override {
    antidiagonals_.clear();
    for (size_t i = 0; i < heads.size(); ++i) {
      AntidiagonalTask task{};
      task.masses = of.masses[i].address();
      task.shares = heads[i].shares.data();
      task.seen = heads[i].seen.address();
      task.head_count = heads[i].head_count;
      task.per_block = of.per_block;
      task.first_group = of.first;
      task.end_group = of.end;
      task.blocks = (of.end + of.per_block - 1) / of.per_block;
      task.first_tile = of.grid.first_tile();
      task.tiles = of.grid.tiles();
      task.columns = of.grid.blocks();
      antidiagonals_.push_back(task);
    }
    cuda::choose_antidiagonals(stream(), antidiagonals_, scores_);
  }

  bool append(const DeviceAppend& added) override {
    append_lists_.clear();
    const auto lists = static_cast<int64_t>(added.lists.size());
    for (int64_t i = 0; i < lists; ++i) {
      const auto at = static_cast<size_t>(i);
      append_lists_.push_back(
          {table_of(added.lists[at]), added.first[at], i * added.kv_heads / lists});
    }
    NewRows rows{.rows = added.rows, .k = added.k.address(), .v = added.v.address()};
    rows.k_stride = rows.v_stride = int64_t{added.kv_heads} * added.lists.front().head_dim;
    append_rows(stream(), form_of(added.lists.front()), rows,
                upload(std::span<const AppendList>(append_lists_), lists_),
                static_cast<int>(lists));
    return true;
  }
  bool keep_numbers(View<const int32_t> rows, View<float> numbers) override {
    const ColumnMove move{reinterpret_cast<uint32_t*>(numbers.address()), 0, rows.address(),
                          nullptr, rows.size()};
    move_columns(stream(), upload(std::span<const ColumnMove>(&move, 1), moves_), 1);
    return true;
  }
  bool gather_rows(const PagedRows& from, std::span<const int32_t> rows,
                   const PagedRows& to) override {
    const RowMove move{table_of(to),        0,       table_of(from),  0,
                       upload(rows, rows_), nullptr, std::ssize(rows)};
    move_rows(stream(), form_of(from), upload(std::span<const RowMove>(&move, 1), moves_), 1, true);
    return true;
  }

  std::shared_ptr<const DeviceMatrix> matrix(const TensorView& weight) override {
    if (uploader_ == nullptr) uploader_ = std::make_unique<Uploader>(stream());
    Matrix copy(weight.type, weight.rows(), weight.cols());
    uploader_->put(weight, copy);
    return std::make_shared<OwnMatrix>(std::move(copy));
  }
  std::unique_ptr<DeviceInput> input() override { return std::make_unique<OwnInput>(queue_); }
  void linear(const DeviceInput& of, std::span<const DeviceLinear> products) override {
    const auto& x = static_cast<const OwnInput&>(of);
    if (x.rows() <= kMostMatvecRows) return few(x, products);
    for (const DeviceLinear& product : products) many(x, product);
  }
  void embed(const DeviceMatrix& table, std::span<const int32_t> tokens, View<float> x) override {
    const int32_t* const there = upload(tokens, tokens_);
    embed_rows(stream(), view_of(table), there, std::ssize(tokens), x.address());
  }
  void rms_norm_heads(View<float> x, View<const float> weight, float eps, int64_t rows, int heads,
                      int head_dim) override {
    cuda::rms_norm_heads(stream(), x.address(), weight.address(), eps, rows, heads, head_dim,
                         int64_t{heads} * head_dim);
  }
  void split_halves(View<float> x, int64_t rows, int heads, int head_dim, int rotary) override {
    cuda::split_halves(stream(), x.address(), rows, heads, head_dim, rotary,
                       int64_t{heads} * head_dim);
  }

  void rms_norm(View<const float> x, View<const float> weight, float eps, int64_t rows, int64_t n,
                DeviceInput& to) override {
    const auto write = [&](auto y) {
      cuda::rms_norm(stream(), x.address(), n, weight.address(), eps, rows, n, y);
    };
    const OwnInput& y = begin(to, rows, n);
    y.both() ? write(y.forms()) : write(y.bf16());
  }
  void swiglu(View<const float> gate, View<const float> up, int64_t rows, int64_t n,
              DeviceInput& to) override {
    const OwnInput& y = begin(to, rows, n);
    if (y.both()) return cuda::swiglu(stream(), gate.address(), up.address(), rows, n, y.forms());
    cuda::swiglu(stream(), gate.address(), up.address(), rows, n, n, y.bf16());
  }
  void take(View<const float> x, int64_t rows, int64_t n, DeviceInput& to) override {
    const OwnInput& y = begin(to, rows, n);
    if (y.both()) return f32_to_product_rows(stream(), x.address(), rows, n, y.forms());
    f32_to_bf16(stream(), x.address(), rows * n, y.bf16());
  }

 private:
  cudaStream_t stream() const { return queue_.handle(); }

  /// Memory that stays until the next upload into it.
  template <class T>
  const T* upload(std::span<const T> numbers, Room& room) {
    room.at_least(numbers.size_bytes());
    queue_.upload(numbers.data(), room.data, numbers.size_bytes());
    return static_cast<const T*>(room.data);
  }

  static const OwnInput& begin(DeviceInput& to, int64_t rows, int64_t n) {
    auto& input = static_cast<OwnInput&>(to);
    input.resize(rows, n);
    return input;
  }

  void few(const OwnInput& x, std::span<const DeviceLinear> products) {
    std::vector<MatvecJob> jobs;
    for (const DeviceLinear& product : products) {
      jobs.push_back({.weight = view_of(*product.weight),
                      .y = product.y.address(),
                      .bias = product.bias.address(),
                      .add = product.add});
    }
    const ProductRows forms = x.forms();
    matvec(stream(),
           {.x = forms.bf16, .bf16 = true, .rows = x.rows(), .cols = x.cols(), .int8 = forms.int8},
           jobs);
  }

  void many(const OwnInput& x, const DeviceLinear& product) {
    if (gemm_ == nullptr) gemm_ = std::make_unique<Gemm>(open_cublas());
    const MatrixView w = view_of(*product.weight);
    GemmCall call{.rows = x.rows(), .outputs = w.rows, .cols = w.cols, .x = x.bf16()};
    call.y = product.y.address();
    call.add = product.add;
    if (w.bf16 != nullptr) {
      call.w = w.bf16;
      call.w_stride = w.bf16_stride;
    } else if (w.type == DType::BF16 && w.row_stride % 16 == 0) {
      call.w = reinterpret_cast<const uint16_t*>(w.planes[0]);
      call.w_stride = static_cast<int64_t>(w.row_stride / sizeof(uint16_t));
    } else {
      const int64_t stride = bf16_stride_of(w.cols);
      expanded_.at_least(static_cast<size_t>(w.rows * stride) * sizeof(uint16_t));
      expand_bf16(stream(), w, 0, w.rows, static_cast<uint16_t*>(expanded_.data));
      call.w = static_cast<const uint16_t*>(expanded_.data);
      call.w_stride = stride;
    }
    gemm_->run(stream(), call);
    if (!product.bias.empty()) {
      add_bias(stream(), product.y.address(), product.bias.address(), x.rows(), w.rows, w.rows);
    }
  }

  GpuQueue& queue_;
  Scratch attention_;
  ScoreScratch scores_;
  std::unique_ptr<Uploader> uploader_;
  std::unique_ptr<Gemm> gemm_;
  std::vector<AppendList> append_lists_;
  std::vector<LinesTask> lines_;
  std::vector<TileTask> tiles_;
  std::vector<FlexHeadTask> flex_;
  std::vector<AntidiagonalTask> antidiagonals_;
  Room frequencies_{queue_}, tokens_{queue_}, expanded_{queue_}, int8_{queue_}, lists_{queue_},
      rows_{queue_}, moves_{queue_};
};

}  // namespace

std::unique_ptr<DeviceOps> make_ops(GpuQueue& queue) { return std::make_unique<CudaOps>(queue); }

}  // namespace longhaul::cuda
