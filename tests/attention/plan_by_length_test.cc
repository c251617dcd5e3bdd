// The driver keeps the plans of a prompt for all generated tokens unless the method says that they
// depend on the length of the context (MethodPlan::by_length).

#include <gtest/gtest.h>

#include "attention/method_run.h"
#include "attention/settings.h"

namespace longhaul {
namespace {

using testing_support::small_shape;

std::vector<std::string> planned_settings() {
  std::vector<std::string> all = testing_support::covering_settings();
  for (const auto& each : testing_support::small_settings()) all.push_back(each.spec);
  return all;
}

TEST(PlanByLength, PlansOfOtherMethodsAreTheSameForAllLengths) {
  const ModelShape shape = small_shape(3, 2, 2, 64);
  int by_length = 0;
  for (const std::string& spec : planned_settings()) {
    const std::unique_ptr<Method> method = MethodSpec::parse(spec).make_method(shape);
    by_length += method->whole.by_length ? 1 : 0;
    for (int layer = 0; layer < shape.layers && !method->whole.by_length; ++layer) {
      const ListPlan first = method->plan(layer, 1, 0);
      for (const int64_t tokens : {1, 20, 700, 5000, 1 << 20}) {
        EXPECT_EQ(method->plan(layer, 1, tokens), first) << spec << ", " << tokens << " tokens";
      }
    }
  }
  EXPECT_GT(by_length, 0);
}

}  // namespace
}  // namespace longhaul
