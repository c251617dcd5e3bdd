#pragma once
// Forgetting while a prompt is read, as EasyKV does it (the code of RoCo, arXiv:2402.06262): the
// prompt's first tokens are read densely, then every `stride` tokens as many rows leave every list,
// so that it returns to one length. What leaves is the method's choice. Nothing leaves while
// generating. Layers with the model's own window keep everything.

#include <span>
#include <vector>

#include "attention/placed_rows.h"
#include "attention/registry.h"
#include "attention/stride_passes.h"

namespace longhaul {

struct StrideBudget {
  int64_t budget = 0;  ///< rows of a list; up to budget + stride after a prompt
  int64_t stride = 0;  ///< tokens between two cuts
  int64_t sink = 0;    ///< first rows that never leave
  int64_t recent = 0;  ///< last rows that never leave
  Placement placement = Placement::kText;

  /// From options of these names and `positions`; recent=auto is a tenth of budget + stride. Throws
  /// UserError when sink + recent do not fit. `budget_key` is the method's name for the budget.
  static StrideBudget from(const MethodOptions& options, std::string_view method,
                           std::string_view budget_key = "budget");
};

class StrideEviction : public AttentionMethod {
 public:
  StrideEviction(const StrideBudget& budget, const ModelShape& shape);

  std::vector<Pass> prepare(const PromptFacts& prompt) override;
  void attend(LayerStep& step) final;
  void retain(KvStore& store, const Pass& pass, bool last_of_prompt) override;
  int numbers_per_row() const override { return 1; }  // its token; more with columns
  size_t most_kv_bytes(const KvLayout& layout, int64_t tokens, int chunk) const override;
  bool keeps_replies() const override { return true; }
  bool can_rewind() const override { return false; }  // scores hold what later queries paid
  void save(ByteWriter& out) const override;
  void restore(ByteReader& in) override;
  void check_restored(const KvStore& store, int64_t tokens) const override;
  int64_t reach(int64_t tokens, int chunk) const override;

 protected:
  /// A step after which rows will leave has attended.
  virtual void observe(LayerStep& step, PlacedRows& rows) = 0;
  /// Cuts the lists of a layer to `length` rows.
  virtual void forget(KvStore& store, int layer, int64_t length) = 0;

  const StrideBudget& how() const { return how_; }
  const ModelShape& shape() const { return shape_; }
  bool forgets(int layer) const { return shape_.own_window(layer) == 0; }

 private:
  StrideBudget how_;
  ModelShape shape_;
  PlacedRows rows_;
  StridePasses passes_;
  int64_t target_ = 0;  ///< rows of a list after a cut
  int64_t held_ = 0;    ///< rows of a list now
  bool reading_ = false;
};

}  // namespace longhaul
