#include "attention/methods/ltri/ltri_options.h"

#include <cmath>

#include "attention/methods/ltri/tile_map.h"
#include "base/error.h"
#include "base/nth.h"
#include "base/parse_number.h"

namespace longhaul {
namespace {

bool is_list(const std::string& text) { return text.find('/') != std::string::npos; }
/// Parses `text` as one number for all layers, or one number per layer, and sets the member
/// `number` of each layer's rule.
void read_per_layer(const std::string& text, std::string_view key, float most,
                    float SpanTokenRule::*number, std::vector<LtriLayer>& layers) {
  std::vector<std::string_view> parts = split_values(text);
  if (parts.size() == 1) parts.resize(layers.size(), text);
  if (parts.size() != layers.size()) {
    user_error("--attention ltri: {}={}: has {} numbers, the model has {} layers", key, text,
               parts.size(), layers.size());
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    float& value = layers[i].rule.*number;
    if (!parse_number(parts[i], value) || !(value >= 0 && value <= most)) {
      user_error("--attention ltri: {}={}: '{}' must be a number from 0 to {}", key, text, parts[i],
                 most);
    }
  }
}

/// Parses the retrieval heads, "LAYER.HEAD:WEIGHT/LAYER.HEAD:WEIGHT/...".
void read_heads(const std::string& text, const ModelShape& shape, std::vector<LtriLayer>& layers) {
  for (const std::string_view item : split_values(text)) {
    const size_t dot = item.find('.'), colon = std::min(item.find(':'), item.size());
    int layer = -1, head = -1;
    float weight = 1;
    if (dot >= colon || !parse_number(item.substr(0, dot), layer) ||
        !parse_number(item.substr(dot + 1, colon - dot - 1), head) ||
        (colon < item.size() && (!parse_number(item.substr(colon + 1), weight) || !(weight > 0) ||
                                 !std::isfinite(weight)))) {
      user_error("--attention ltri: heads: '{}' must be LAYER.HEAD or LAYER.HEAD:WEIGHT", item);
    }
    if (layer < 0 || layer >= shape.layers || head < 0 || head >= shape.all_heads()) {
      user_error(
          "--attention ltri: heads: {} does not exist: the model has layers 0 to {} and query "
          "heads 0 to {}",
          item, shape.layers - 1, shape.all_heads() - 1);
    }
    LtriLayer& at = nth(layers, layer);
    if (at.head >= 0) {
      user_error("--attention ltri: heads: layer {} is named twice; a layer has one retrieval head",
                 layer);
    }
    at.head = head;
    at.weight = weight;
  }
}

/// Sets LtriLayer::looks_up of the layers with a retrieval head, and (if `early` is true) of the
/// layers before the first one of these.
void mark_lookups(bool early, std::vector<LtriLayer>& layers, const ModelShape& shape) {
  bool before_first = true;
  for (size_t l = 0; l < layers.size(); ++l) {
    before_first = before_first && layers[l].head < 0;
    layers[l].looks_up = shape.window[l] == 0 && (layers[l].head >= 0 || (early && before_first));
  }
}

/// Throws UserError if the option `part` has more rows than the option `whole`.
void expect_within(std::string_view part, int64_t rows, std::string_view whole, int64_t most) {
  if (rows <= most) return;
  user_error("--attention ltri: {}={}: must be from 1 to {} = {}", part, rows, whole, most);
}

void check(const LtriOptions& o) {
  o.blocks.check("ltri");
  if (o.blocks.block > o.blocks.local) {
    user_error("--attention ltri: block={}: must be at most n_local = {}", o.blocks.block,
               o.blocks.local);
  }
  expect_within("last", o.last, "chunk", o.blocks.chunk);
  if (o.queries == LtriQueries::kRows) expect_within("query_rows", o.query_rows, "last", o.last);
}

}  // namespace

void LtriOptions::declare(OptionList& o) {
  blocks.declare_sizes(o, kMostTileKeys);
  blocks.declare_chunk(o);
  o.integer(last, "last", 1, 1 << 16, "tokens",
            "rows of a prompt's last step: the question, and little more; --chunk caps it");
  blocks.declare_cached(o);
  o.choice(form, "form", {"paper", "longhaul"},
           "paper: spans, their vectors, sums over pairs; longhaul: all keys of a block, the last "
           "rows of a step, the best pair")
      .later = true;
  o.text(heads, "heads", "",
         "retrieval heads, LAYER.HEAD:WEIGHT/...; one a layer; none: all heads, summed");
  o.choice(early, "early", {"average", "window"},
           "layers before the first retrieval head: look up by all heads, or see the window only");
  o.flag(vote, "vote", "a layer takes what the retrieval heads up to it vote for")
      .only([this] { return !heads.empty(); }, "heads", "heads");
  const auto of_paper = [this](Option& option) -> Option& {
    return option.only([this] { return form == LtriForm::kPaper; }, "form=paper", "form");
  };
  of_paper(o.text(theta, "theta", "quantile",
                  "what a block's map must pass to count for a span; one number, or one per layer, "
                  "with /"));
  of_paper(
      o.text(phi, "phi", "IoU", "most overlap of two spans; one number, or one per layer, with /"));
  of_paper(o.integer(spans, "spans", 1, 512, "spans", "most spans of a block"));
  of_paper(o.integer(vectors, "vectors", 1, 512, "vectors", "most index vectors of a block"));
  of_paper(o.text(lambda, "lambda", "",
                  "how fast a span that its neighbours know gets fewer vectors; one, or one per "
                  "layer, with /"));
  o.real(lambda_first, "lambda_first", 0, 1000, "", "the same in the first eighth of the layers")
      .only([this] { return form == LtriForm::kPaper && !is_list(lambda); },
            "form=paper and one lambda", "form|lambda");
  of_paper(o.choice(ratio, "ratio", {"row", "col", "rowcol"},
                    "neighbours of a span: tokens before it, after it, or both"));
  of_paper(o.choice(queries, "queries", {"spans", "rows"},
                    "what looks up: index tokens of the step's spans, or its last query_rows rows "
                    "(ours)"));
  o.integer(query_rows, "query_rows", 1, 1 << 16, "tokens",
            "how many of the last rows look up, no more than last")
      .only([this] { return form == LtriForm::kPaper && queries == LtriQueries::kRows; },
            "form=paper and queries=rows", "form|queries");
  of_paper(o.choice(similarity, "similarity", {"sum", "max"},
                    "of two spans: the sum over pairs of vectors, or the best pair (ours)"));
  o.choice(decode, "decode", {"persistent", "refresh"},
           "generated tokens keep the last step's blocks, or look up again (ours)");
  blocks.declare_fidelity(o);
  of_paper(o.choice(mean_index, "index", {"votes", "mean"},
                    "a span's vectors: the keys of its tokens with most votes, or their mean"))
      .later = true;
}

LtriOptions LtriOptions::in_form() const {
  LtriOptions o = *this;
  if (form == LtriForm::kPaper) return o;
  o.theta = std::string("0");  // GCC 12 misreads the assignment of a literal here
  o.spans = 1;
  o.vectors = blocks.block;
  o.lambda = std::string("0");
  o.lambda_first = 0;
  o.queries = LtriQueries::kRows;
  o.query_rows = last;
  o.similarity = SpanSimilarity::kMax;
  return o;
}

std::vector<LtriLayer> ltri_layers(const LtriOptions& o, const ModelShape& shape) {
  check(o);
  std::vector<LtriLayer> layers(static_cast<size_t>(shape.layers));
  read_per_layer(o.theta, "theta", 1, &SpanTokenRule::theta, layers);
  read_per_layer(o.phi, "phi", 1, &SpanTokenRule::phi, layers);
  read_per_layer(o.lambda, "lambda", 1000, &SpanTokenRule::lambda, layers);
  const int first = is_list(o.lambda) ? 0 : shape.layers / 8;
  for (int l = 0; l < shape.layers; ++l) {
    SpanTokenRule& rule = nth(layers, l).rule;
    if (l < first) rule.lambda = static_cast<float>(o.lambda_first);
    rule.spans = static_cast<int>(o.spans);
    rule.most = static_cast<int>((o.vectors + o.spans - 1) / o.spans);
    rule.neighbours = o.ratio;
  }
  read_heads(o.heads, shape, layers);
  mark_lookups(o.early == LtriEarly::kAverage, layers, shape);
  return layers;
}

}  // namespace longhaul
