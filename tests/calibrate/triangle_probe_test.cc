// The probe on nano compared with torch's results (docs/methods/trianglemix.md), and its ranking.

#include "calibrate/triangle_probe.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "eval/nano.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::nano;
using testing_support::TempFolder;

TEST(TriangleProbe, FindsTheLayersThatReadTheMiddle) {
  TriangleProbe probe;
  probe.prompts = 2;
  probe.tokens = 700;
  probe.compute = Compute::kBest;
  TriangleSearch search(nano(), probe);
  const TempFolder folder;
  ASSERT_TRUE(search.advance(nullptr));
  search.save(folder.path() / "state");
  TriangleSearch rest(nano(), probe);
  rest.restore(folder.path() / "state");
  while (!search.finished()) ASSERT_TRUE(search.advance(nullptr));
  while (!rest.finished()) ASSERT_TRUE(rest.advance(nullptr));
  const ProbedLayers found = search.found();
  for (size_t layer = 0; layer < 12; ++layer) {
    EXPECT_EQ(rest.found().layers[layer].middle.magnitude, found.layers[layer].middle.magnitude);
  }
  EXPECT_EQ(found.asked, 2);
  EXPECT_GT(found.tokens, 1200);
  EXPECT_LE(found.tokens, 1400);
  const auto middle = [&](size_t layer) { return found.layers[layer].middle.magnitude; };
  EXPECT_EQ(middle(11), 0) << "only the last row of the last layer is read";
  for (size_t layer = 1; layer < 11; ++layer) EXPECT_GT(middle(0), middle(layer)) << layer;
  for (const size_t layer : {1, 2, 4, 9, 10}) EXPECT_GT(middle(5), middle(layer)) << layer;
}

TEST(TriangleProbe, APromptTooShortForTwoLinesIsRefused) {
  TriangleProbe probe;
  probe.tokens = 200;
  EXPECT_THROW(TriangleSearch(nano(), probe).advance(nullptr), UserError);
}

TEST(TriangleProbe, RanksByTheSignedMeanOrByMagnitude) {
  ModelShape shape;
  shape.layers = 4;
  shape.window = {0, 0, 64, 0};  // layer 2 has its own window
  ProbedLayers found;
  found.layers.resize(4);
  found.layers[0].middle = {0.5, 0.6};
  found.layers[1].middle = {-2, 2};
  found.layers[3].middle = {0, 0};
  EXPECT_EQ(rank_layers(found, shape, false), (std::vector<int>{1, 3, 0}));
  EXPECT_EQ(rank_layers(found, shape, true), (std::vector<int>{0, 1}));
}

}  // namespace
}  // namespace longhaul
