#include "ops/core/gpu/cuda_ops.gpu.h"

#include <algorithm>

#include "base/error.h"
#include "ops/attention/attend.gpu.h"
#include "ops/attention/attend_plan.h"
#include "ops/attention/kv.h"
#include "ops/attention/rope.gpu.h"
#include "ops/core/best_logits.gpu.h"
#include "ops/core/elementwise.gpu.h"
#include "ops/core/gpu/cuda_choices.gpu.h"
#include "ops/core/rms_norm.gpu.h"
#include "ops/grad/text_gradients.gpu.h"
#include "ops/matmul/expand.gpu.h"
#include "ops/matmul/expert_mix.gpu.h"

namespace longhaul::cuda {
namespace {

class CudaOps : public CudaChoices {
 public:
  explicit CudaOps(GpuQueue& queue) : CudaChoices(queue) {}

  bool attend(const AttendCall& call, std::span<const AttendTask> tasks) override {
    if (!attends({call, tasks})) return false;
    attention_.pages = engine_pages(call.head_dim);
    staged_.run(call, tasks, [&](std::span<const AttendTask> some) {
      cuda::attend(stream(), call, some, attention_);
    });
    return true;
  }

  bool attend_all(std::span<const AttendJob> jobs) override {
    left_jobs_.clear();
    for (const AttendJob& job : jobs) left_jobs_.push_back(&job);
    while (!left_jobs_.empty()) {
      take_joinable(left_jobs_, joined_jobs_);
      if (joined_jobs_.size() == 1 || !std::ranges::all_of(joined_jobs_, attends)) {
        for (const AttendJob& job : joined_jobs_) longhaul::attend(job.call, job.tasks);
        continue;
      }
      attention_.pages = engine_pages(joined_jobs_.front().call.head_dim);
      cuda::attend(stream(), joined_jobs_, attention_);
    }
    return true;
  }

  bool rotations(const RopeTable& table, int64_t first, int64_t count, View<float> cosine,
                 View<float> sine) override {
    const std::vector<double>& frequency = table.inverse_frequency;
    const double* const there = frequencies_.upload(std::span<const double>(frequency));
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

  bool append(const DeviceAppend& added) override {
    append_all({&added, 1});
    return true;
  }
  bool appends_together() const override { return true; }
  void append_all(std::span<const DeviceAppend> all) override {
    append_lists_.clear();
    new_rows_.clear();
    for (const DeviceAppend& added : all) {
      const auto lists = static_cast<int64_t>(added.lists.size());
      for (int64_t i = 0; i < lists; ++i) {
        const auto at = static_cast<size_t>(i);
        append_lists_.push_back({table_of(added.lists[at]), added.first[at],
                                 static_cast<int32_t>(i * added.kv_heads / lists),
                                 static_cast<int32_t>(new_rows_.size())});
      }
      new_rows_.push_back(new_rows(added));
    }
    append_rows(stream(), form_of(all.front().lists.front()), new_rows_, append_lists_);
  }
  bool keep_rows(std::span<const KeptRows> rows, std::span<const KeptNumbers> numbers) override {
    row_moves_.clear();
    for (const KeptRows& each : rows) {
      row_moves_.push_back({table_of(each.to), 0, table_of(each.from), 0, each.rows.address(),
                            nullptr, each.rows.size()});
    }
    if (!rows.empty()) move_rows(stream(), form_of(rows.front().from), row_moves_, true);
    column_moves_.clear();
    for (const KeptNumbers& each : numbers) {
      column_moves_.push_back({static_cast<const uint32_t*>(each.from), each.listed, each.behind,
                               static_cast<uint32_t*>(each.to), 0, each.rows.address(), nullptr,
                               each.rows.size()});
    }
    move_columns(stream(), column_moves_);
    return true;
  }

  std::shared_ptr<const DeviceMatrix> matrix(std::span<const TensorView> parts) override {
    const TensorView& first = parts.front();
    if (!on_device(first.type)) return nullptr;
    if (uploader_ == nullptr) uploader_ = std::make_unique<Uploader>(stream());
    int64_t rows = 0;
    for (const TensorView& part : parts) rows += part.rows();
    Matrix copy(first.type, rows, first.cols());
    rows = 0;
    for (const TensorView& part : parts) {
      uploader_->put(part, copy, rows);
      rows += part.rows();
    }
    return std::make_shared<OwnMatrix>(std::move(copy), queue_.copies());
  }
  std::unique_ptr<DeviceInput> input(Compute compute) override {
    const bool fp8 = compute == Compute::kFp8;
    if (fp8) products_.require_fp8();
    return std::make_unique<OwnInput>(queue_, fp8);
  }
  void linear(const DeviceInput& of, std::span<const DeviceLinear> products) override {
    products_.linear(static_cast<const OwnInput&>(of), products);
  }
  void embed(const DeviceMatrix& table, std::span<const int32_t> tokens, float scale,
             View<float> x) override {
    const int32_t* const there = tokens_.upload(tokens);
    embed_rows(stream(), view_of(table), there, std::ssize(tokens), x.address());
    if (scale != 1) cuda::scale_and_cap(stream(), x.address(), x.size(), scale, 0);
  }
  void rms_norm_heads(View<float> x, View<const float> weight, float eps, int64_t rows, int heads,
                      int head_dim) override {
    if (heads == 1) {
      return cuda::rms_norm(stream(), x.address(), head_dim, weight.address(), eps, rows, head_dim,
                            x.address());
    }
    cuda::rms_norm_heads(stream(), x.address(), weight.address(), eps, rows, heads, head_dim,
                         int64_t{heads} * head_dim);
  }

  void grow_queries(View<float> q, int64_t rows, int64_t n, int64_t first,
                    const QueryGrowth& growth) override {
    cuda::grow_queries(stream(), q.address(), rows, n, first, growth);
  }
  void add_scaled(View<const float> y, View<const float> weight, float eps, float scale,
                  int64_t rows, int64_t n, View<float> x) override {
    if (weight.empty()) {
      return cuda::add_scaled(stream(), y.address(), scale, rows * n, x.address());
    }
    cuda::add_rms_norm(stream(), y.address(), weight.address(), eps, scale, rows, n, x.address());
  }
  void scale_and_cap(View<float> x, float scale, float cap) override {
    cuda::scale_and_cap(stream(), x.address(), x.size(), scale, cap);
  }
  bool best_logits(View<float> logits, std::span<const LogitRules> rules, int k,
                   std::span<BestLogit> best, std::span<LogitSums> sums) override {
    best_.run(logits, rules, k, best, sums);
    return true;
  }
  void mix_experts(const DeviceInput& x, View<const float> logits, const DeviceExperts& of,
                   View<float> y, bool add) override {
    experts_.run(static_cast<const OwnInput&>(x), logits.address(), of, y.address(), add);
  }

  bool linear_back(const DeviceInput& dy, const DeviceMatrix& weight, bool add,
                   View<float> dx) override {
    products_.back(static_cast<const OwnInput&>(dy), static_cast<const OwnMatrix&>(weight),
                   dx.address(), add);
    return true;
  }
  bool attention_backward(const TextAttention& shape, const AttentionTrace& trace, View<float> dq,
                          View<float> dk, View<float> dv) override {
    gradients_.backward(shape, trace, dq.address(), dk.address(), dv.address());
    return true;
  }
  std::optional<RegionSums> attention_regions(const TextAttention& shape,
                                              const AttentionTrace& trace,
                                              const ProbedRegions& regions) override {
    return gradients_.regions(shape, trace, regions);
  }
  bool rms_norm_backward(View<const float> x, View<const float> weight, float eps,
                         View<const float> dy, int64_t rows, int64_t n, View<float> dx,
                         bool add) override {
    cuda::rms_norm_backward(stream(), x.address(), weight.address(), eps, dy.address(), rows, n,
                            dx.address(), add);
    return true;
  }
  bool swiglu_backward(View<const float> gate, View<const float> up, View<const float> dy,
                       View<float> d_gate, View<float> d_up) override {
    cuda::swiglu_backward(stream(), gate.address(), up.address(), dy.address(), dy.size(),
                          d_gate.address(), d_up.address());
    return true;
  }
  bool mix_gated(const GatedRows& shape, View<const float> gates, View<const float> full,
                 View<const float> near, View<float> out) override {
    cuda::mix_gated(stream(), shape, gates.address(), full.address(), near.address(),
                    out.address());
    return true;
  }
  bool scale_heads(const GatedRows& shape, View<const float> factors, View<const float> x,
                   View<float> out) override {
    cuda::scale_heads(stream(), shape, factors.address(), x.address(), out.address());
    return true;
  }
  bool add_gate_gradient(const GatedRows& shape, View<const float> d_mixed, View<const float> full,
                         View<const float> near, View<float> sums) override {
    gradients_.add_gates(shape, d_mixed.address(), full.address(), near.address(), sums.address());
    return true;
  }

  void rms_norm(View<const float> x, View<const float> weight, float eps, int64_t rows, int64_t n,
                DeviceInput& to) override {
    static_cast<OwnInput&>(to).make(x.address(), weight.address(), eps, rows, n);
  }
  void swiglu(View<const float> gate, View<const float> up, const Gating& gating, int64_t rows,
              int64_t n, DeviceInput& to) override {
    const OwnInput& y = begin(to, rows, n);
    if (y.both()) {
      return cuda::swiglu(stream(), gate.address(), up.address(), rows, n, y.forms(), gating);
    }
    cuda::swiglu(stream(), gate.address(), up.address(), rows, n, n, y.bf16(), gating);
  }
  bool gated_products(const DeviceInput& x, const DeviceMatrix& gate, const DeviceMatrix& up,
                      const Gating& gating, View<float> gate_room, View<float> up_room,
                      DeviceInput& to) override {
    const auto& of = static_cast<const OwnInput&>(x);
    if (of.rows() == 1) return gated_product(of, gate, up, gating, gate_room, to);
    if (of.rows() <= kMostMatvecRows || of.both()) return false;
    const auto multiply = [&](const DeviceMatrix& weight, View<float> room) {
      auto* const y = reinterpret_cast<uint16_t*>(room.address());
      products_.many_bf16(of, static_cast<const OwnMatrix&>(weight), y);
      return y;
    };
    const uint16_t* const gated = multiply(gate, gate_room);
    const uint16_t* const raised = multiply(up, up_room);
    const int64_t n = gate.rows();
    cuda::swiglu(stream(), gated, raised, of.rows(), n, n, begin(to, of.rows(), n).bf16(), gating);
    return true;
  }
  void take(View<const float> x, int64_t rows, int64_t n, DeviceInput& to) override {
    static_cast<OwnInput&>(to).make(x.address(), nullptr, 0, rows, n);
  }

 private:
  static NewRows new_rows(const DeviceAppend& added) {
    LH_ASSERT(added.rotated_q.empty() || added.rotations != nullptr);
    const int head_dim = added.lists.front().head_dim;
    NewRows rows{.rows = added.rows, .k = added.k.address(), .v = added.v.address()};
    rows.k_stride = rows.v_stride = int64_t{added.kv_heads} * head_dim;
    if (added.rotations == nullptr) return rows;
    const longhaul::Rotations& r = *added.rotations;
    LH_ASSERT(added.position >= r.first && added.position + added.rows <= r.first + r.count);
    const int64_t angle = (added.position - r.first) * (r.rotary_dim / 2);
    rows.cosine = r.cosine + angle;
    rows.sine = r.sine + angle;
    rows.rotary_dim = r.rotary_dim;
    rows.q = added.q.address();
    rows.rotated_q = added.rotated_q.address();
    rows.query_heads = static_cast<int>(added.q.size() / added.rows / head_dim);
    return rows;
  }
  static bool attends(const AttendJob& job) {
    for (const AttendTask& task : job.tasks) {
      for (const KeySegment& s : task.segments) {
        if (!can_attend(job.call.head_dim, s.rows.page_rows, s.rows.type)) return false;
      }
    }
    return true;
  }
  bool gated_product(const OwnInput& x, const DeviceMatrix& gate, const DeviceMatrix& up,
                     const Gating& gating, View<float> room, DeviceInput& to) {
    const GatedMatvec job{view_of(gate), view_of(up), gating, room.address()};
    if (!gated_matvec(stream(), x.for_products(), job)) return false;
    static_cast<OwnInput&>(to).make(job.y, nullptr, 0, 1, gate.rows());
    return true;
  }
  static const OwnInput& begin(DeviceInput& to, int64_t rows, int64_t n) {
    auto& input = static_cast<OwnInput&>(to);
    input.resize(rows, n);
    return input;
  }

  Scratch attention_;
  std::unique_ptr<Uploader> uploader_;
  Products products_{queue_};
  ExpertMix experts_{queue_, products_};
  TextGradients gradients_{queue_, products_};
  BestLogits best_{queue_};
  std::vector<const AttendJob*> left_jobs_;
  std::vector<AttendJob> joined_jobs_;
  std::vector<AppendList> append_lists_;
  std::vector<NewRows> new_rows_;
  std::vector<RowMove> row_moves_;
  std::vector<ColumnMove> column_moves_;
  Room frequencies_{queue_}, tokens_{queue_};
};

}  // namespace

std::unique_ptr<DeviceOps> make_ops(GpuQueue& queue) { return std::make_unique<CudaOps>(queue); }

}  // namespace longhaul::cuda
