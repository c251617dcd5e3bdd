// TriangleMix: dense attention in some layers (the lower ones), triangle attention in the prefill
// of the others: a row sees sinks and a window, and only the last rows of the prompt see everything
// (docs/methods/trianglemix.md). The cache is that of dense attention, and so is decode. The dense
// layers may read the prompt by another method that keeps everything.

#include <algorithm>

#include "attention/method_spec.h"
#include "attention/value_list.h"
#include "base/error.h"
#include "base/parse_number.h"

namespace longhaul {
namespace {

class TriangleMix final : public AttentionMethod {
 public:
  /// `triangle`: whether a layer is one of those; `other` reads the rest.
  TriangleMix(const MethodOptions& o, std::vector<bool> triangle,
              std::unique_ptr<AttentionMethod> other)
      : sink_(o.integer("sink")),
        window_(o.integer("window")),
        last_(o.integer("last")),
        triangle_(std::move(triangle)),
        other_(std::move(other)) {}

  std::vector<Pass> prepare(const PromptFacts& prompt) override {
    dense_from_ = prompt.begin + prompt.tokens - last_;
    return other_->prepare(prompt);
  }

  int preferred_chunk() const override { return other_->preferred_chunk(); }

  void attend(LayerStep& step) override {
    if (!triangle_[static_cast<size_t>(step.layer)]) return other_->attend(step);
    const float* queries[] = {step.rotated_q()};
    step.store->append(step.layer, step.rows, step.rotated_k(), step.v);

    const int sparse = sparse_rows(step);
    segments_.clear();
    for (int head = 0; head < step.kv_heads; ++head) {
      const KeySegment all = step.all_keys(head);
      KeySegment sink = all, near = all;
      sink.count = std::min(sink_, step.begin + sparse);
      sink.visible = Visibility::kBeyond;  // a sink within the window is counted there
      near.visible = Visibility::kWindow;
      sink.window = near.window = window_;
      near.begin = near.position = std::max<int64_t>(0, step.begin - window_ + 1);
      near.count = step.begin + sparse - near.begin;
      segments_.insert(segments_.end(), {sink, near, all});
    }

    tasks_.clear();
    const std::span<const KeySegment> segments(segments_);
    for (int head = 0; head < step.kv_heads; ++head) {
      const auto own = segments.subspan(static_cast<size_t>(3 * head), 3);
      const int first = head * step.group(), heads = step.group();
      if (sparse > 0) tasks_.push_back({first, heads, 0, sparse, step.begin, own.first(2)});
      if (sparse == step.rows) continue;
      tasks_.push_back(
          {first, heads, sparse, step.rows - sparse, step.begin + sparse, own.last(1)});
    }
    step.attend(queries, tasks_);
  }

  void retain(KvStore& store, const Pass& pass, bool last_of_prompt) override {
    other_->retain(store, pass, last_of_prompt);
  }
  void save(ByteWriter& out) const override { other_->save(out); }
  void restore(ByteReader& in) override { other_->restore(in); }

 private:
  /// How many rows, from the first, attend by the triangle. A layer with a sliding window of the
  /// model's own stays as it is.
  int sparse_rows(const LayerStep& step) const {
    const bool own_window = step.shape->own_window(step.layer) > 0;
    if (step.decoding || own_window) return 0;
    return static_cast<int>(std::clamp<int64_t>(dense_from_ - step.begin, 0, step.rows));
  }

  int64_t sink_, window_, last_;            // tokens
  std::vector<bool> triangle_;              // [layers]
  std::unique_ptr<AttentionMethod> other_;  // of the dense layers
  int64_t dense_from_ = 0;  // absolute position of the first of the prompt's last rows
  std::vector<KeySegment> segments_;
  std::vector<AttendTask> tasks_;
};

constexpr OptionInfo kSink = {
    "sink", OptionKind::kInteger, "8", "tokens", 0, 1 << 20, "", "first tokens, seen by every row"};
constexpr OptionInfo kWindow = {"window", OptionKind::kInteger,
                                "512",    "tokens",
                                1,        1 << 24,
                                "",       "last tokens that a row sees, itself among them"};
constexpr OptionInfo kLast = {"last", OptionKind::kInteger,
                              "128",  "tokens",
                              0,      1 << 24,
                              "",     "rows at the end of a prompt that see everything"};

constexpr OptionInfo kMixOptions[] = {
    kSink,
    kWindow,
    kLast,
    {"start_layer", OptionKind::kInteger, "auto", "", 0, 1 << 16, "",
     "first triangle layer, counted from 0; auto: half of the layers"},
    {"layers", OptionKind::kText, "", "", 0, 0, "",
     "the triangle layers, LAYER/LAYER/...; none: all from start_layer on", "no start_layer"},
    {"dense", OptionKind::kChoice, "full", "", 0, 0, "full|minference|flexprefill|xattention",
     "how the other layers read a prompt"},
    {"dense_options", OptionKind::kMethodOptions, "", "", 0, 0, "",
     "options of that method, joined by +: gamma=0.9+min_budget=1024", "dense!=full", "dense"}};
constexpr OptionInfo kTriangleOptions[] = {kSink, kWindow, kLast};

/// The method of the dense layers, with the paper's settings where the user has none.
std::unique_ptr<AttentionMethod> make_other(const MethodOptions& o, const ModelShape& shape) {
  const std::string& name = o.text("dense");
  if (name == "full") return MethodSpec::parse("dense").make(shape);
  MethodSpec other = MethodSpec::parse_part(name, o.text("dense_options"));
  if (name == "flexprefill") other.set_default("gamma", "0.95");
  if (name == "xattention") other.set_default("tau", "0.95");
  return other.make(shape);
}

/// The layers that are named (the paper picks them by their gradient), or all from the first on (as
/// its code does).
std::vector<bool> triangle_layers(const MethodOptions& o, const ModelShape& shape) {
  std::vector<bool> triangle(static_cast<size_t>(shape.layers));
  for (const std::string_view value : split_values(o.text("layers"))) {
    int layer = -1;
    if (!parse_number(value, layer) || layer < 0 || layer >= shape.layers) {
      user_error("--attention trianglemix: layers: '{}' must be a layer of the model, 0 to {}",
                 value, shape.layers - 1);
    }
    if (triangle[static_cast<size_t>(layer)]) {
      user_error("--attention trianglemix: layers={}: layer {} is named twice", o.text("layers"),
                 layer);
    }
    triangle[static_cast<size_t>(layer)] = true;
  }
  if (!o.text("layers").empty()) return triangle;

  const int64_t start = o.optional_integer("start_layer").value_or(shape.layers / 2);
  if (start > shape.layers) {
    user_error("--attention trianglemix: start_layer={}: must be from 0 to {}, the model's layers",
               start, shape.layers);
  }
  std::fill(triangle.begin() + start, triangle.end(), true);
  return triangle;
}

std::unique_ptr<AttentionMethod> make_mix(const MethodOptions& o, const ModelShape& shape) {
  return std::make_unique<TriangleMix>(o, triangle_layers(o, shape), make_other(o, shape));
}

MethodInfo common() {
  MethodInfo info;
  info.paper = "TriangleMix: Accelerating Prefilling via Decoding-time Contribution Sparsity, 2025";
  return info;
}

}  // namespace

MethodInfo trianglemix_method() {
  MethodInfo info = common();
  info.name = "trianglemix";
  info.summary = "keeps every key; in upper layers only a prompt's last rows see all of them";
  info.when = "faster prefill of long prompts within the trained length, answers nearly as dense";
  info.keeps =
      "every key and value; in upper layers rows in the middle of a prompt see only the first and "
      "the recent tokens";
  info.harms =
      "prompts whose middle must look far back in upper layers: chains of variables, repeated "
      "passages";
  info.options = kMixOptions;
  info.make = make_mix;
  return info;
}

MethodInfo triangle_method() {
  MethodInfo info = common();
  info.name = "triangle";
  info.summary = "keeps every key; in all layers only a prompt's last rows see all of them";
  info.when = "fastest prefill; loses what must be combined from distant places";
  info.keeps =
      "every key and value; in all layers rows in the middle of a prompt see only the first and "
      "the recent tokens";
  info.harms =
      "all that must be combined from distant places of the prompt; trianglemix loses far less";
  info.options = kTriangleOptions;
  info.make = [](const MethodOptions& o, const ModelShape& s) -> std::unique_ptr<AttentionMethod> {
    return std::make_unique<TriangleMix>(o, std::vector<bool>(static_cast<size_t>(s.layers), true),
                                         MethodSpec::parse("dense").make(s));
  };
  return info;
}

}  // namespace longhaul
