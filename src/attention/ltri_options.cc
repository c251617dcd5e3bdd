#include "attention/ltri_options.h"

#include <cmath>

#include "attention/value_list.h"
#include "base/error.h"
#include "base/parse_number.h"

namespace longhaul {
namespace {

/// One number for all layers, or one per layer.
std::vector<float> per_layer(const MethodOptions& options, std::string_view key, int layers,
                             float least, float most) {
  const std::string& text = options.text(key);
  std::vector<float> values;
  for (const std::string_view part : split_values(text)) {
    float value = 0;
    if (!parse_number(part, value) || !(value >= least && value <= most)) {
      user_error("--attention ltri: {}={}: '{}' must be a number from {} to {}", key, text, part,
                 least, most);
    }
    values.push_back(value);
  }
  if (values.size() == 1) values.resize(static_cast<size_t>(layers), values[0]);
  if (values.size() != static_cast<size_t>(layers)) {
    user_error("--attention ltri: {}={}: has {} numbers, the model has {} layers", key, text,
               values.size(), layers);
  }
  return values;
}

/// "LAYER.HEAD:WEIGHT/...", a query head each.
void read_heads(const std::string& text, const ModelShape& shape, std::vector<LtriLayer>& layers) {
  for (const std::string_view item : split_values(text)) {
    const size_t dot = item.find('.'), colon = std::min(item.find(':'), item.size());
    int layer = -1, head = -1;
    float weight = 1;
    if (dot >= colon || !parse_number(item.substr(0, dot), layer) ||
        !parse_number(item.substr(dot + 1, colon - dot - 1), head) ||
        (colon < item.size() && (!parse_number(item.substr(colon + 1), weight) || !(weight > 0)))) {
      user_error("--attention ltri: heads: '{}' must be LAYER.HEAD or LAYER.HEAD:WEIGHT", item);
    }
    if (layer < 0 || layer >= shape.layers || head < 0 || head >= shape.heads) {
      user_error(
          "--attention ltri: heads: {} does not exist: the model has layers 0 to {} and query "
          "heads 0 to {}",
          item, shape.layers - 1, shape.heads - 1);
    }
    LtriLayer& at = layers[static_cast<size_t>(layer)];
    if (at.head >= 0) {
      user_error("--attention ltri: heads: layer {} is named twice; a layer has one retrieval head",
                 layer);
    }
    at.head = head;
    at.weight = weight;
  }
}

/// Which layers have an index: those with a retrieval head, and those before the first of them.
void mark_lookups(bool early, std::vector<LtriLayer>& layers, const ModelShape& shape) {
  bool before_first = true;
  for (size_t l = 0; l < layers.size(); ++l) {
    before_first = before_first && layers[l].head < 0;
    layers[l].looks_up = shape.window[l] == 0 && (layers[l].head >= 0 || (early && before_first));
  }
}

SpanNeighbours neighbours(const std::string& text) {
  if (text == "row") return SpanNeighbours::kRow;
  return text == "col" ? SpanNeighbours::kColumn : SpanNeighbours::kBoth;
}

/// A part of a step is no longer than what it is a part of.
void expect_within(const MethodOptions& options, std::string_view part, std::string_view whole) {
  if (options.integer(part) <= options.integer(whole)) return;
  user_error("--attention ltri: {}={}: must be from 1 to {} = {}", part, options.integer(part),
             whole, options.integer(whole));
}

}  // namespace

LtriOptions ltri_options(const MethodOptions& options, const ModelShape& shape) {
  LtriOptions o;
  o.blocks = block_options("ltri", options);
  if (o.blocks.block > o.blocks.local) {
    user_error("--attention ltri: block={}: must be at most n_local = {}", o.blocks.block,
               o.blocks.local);
  }
  o.last = static_cast<int>(options.integer("last"));
  expect_within(options, "last", "chunk");
  o.spans = static_cast<int>(options.integer("spans"));
  o.vectors = static_cast<int>(options.integer("vectors"));
  o.ratio = neighbours(options.text("ratio"));
  o.similarity = options.text("similarity") == "sum" ? SpanSimilarity::kSum : SpanSimilarity::kMax;
  o.queries = options.text("queries") == "spans" ? LtriQueries::kSpans : LtriQueries::kRows;
  o.query_rows = static_cast<int>(options.integer("query_rows"));
  if (o.queries == LtriQueries::kRows) expect_within(options, "query_rows", "last");
  o.persistent = options.text("decode") == "persistent";
  o.vote = options.flag("vote");
  const auto theta = per_layer(options, "theta", shape.layers, 0, 1);
  const auto phi = per_layer(options, "phi", shape.layers, 0, 1);
  const auto lambda = per_layer(options, "lambda", shape.layers, 0, 1000);
  const int first = options.text("lambda").find('/') == std::string::npos ? shape.layers / 8 : 0;
  for (int l = 0; l < shape.layers; ++l) {
    const size_t i = static_cast<size_t>(l);
    LtriLayer& layer = o.layers.emplace_back();
    layer.theta = theta[i];
    layer.phi = phi[i];
    layer.lambda = l < first ? static_cast<float>(options.real("lambda_first")) : lambda[i];
  }
  read_heads(options.text("heads"), shape, o.layers);
  mark_lookups(options.text("early") == "average", o.layers, shape);
  return o;
}

}  // namespace longhaul
