// Restoring a method from a session file. The method's state and store are used. Inconsistent data
// is refused before the method relies on it.

#include <gtest/gtest.h>

#include <set>

#include "attention/method_run.h"
#include "attention/registry.h"
#include "attention/test_name.h"
#include "attention/tested_methods.h"
#include "base/byte_stream.h"
#include "base/error.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::error_if_any;
using testing_support::MethodRun;
using testing_support::Small;
using testing_support::TempFolder;

constexpr int64_t kRestoredTokens = 61;

/// Layers of two KV heads. The middle layer has its own window.
ModelShape shape() {
  ModelShape shape = testing_support::small_shape(3, 2, 2, 16);
  shape.window[1] = 12;
  return shape;
}

/// A context of kRestoredTokens tokens after evictions, aging or look-ups of a method.
struct Context {
  explicit Context(const char* text, const ModelShape& model = shape())
      : spec(MethodSpec::parse(text, testing_support::tested_methods())),
        method(spec.make(model)),
        run(model, *method, DType::BF16, kRestoredTokens + 40) {
    run.prompt(kRestoredTokens, 16, 5);
  }

  /// A new method with the state that `write` writes.
  std::unique_ptr<AttentionDriver> restored(const std::function<void(ByteWriter&)>& write) const {
    const TempFolder folder;
    ByteWriter out(folder.path() / "state");
    write(out);
    out.finish();
    ByteReader in(folder.path() / "state");
    auto fresh = spec.make(run.shape);
    fresh->restore(in);
    EXPECT_EQ(in.remaining(), 0u);
    return fresh;
  }
  std::unique_ptr<AttentionDriver> restored() const {
    return restored([&](ByteWriter& out) { method->save(out); });
  }

  MethodSpec spec;
  std::unique_ptr<AttentionDriver> method;
  MethodRun run;
};

class Restored : public ::testing::TestWithParam<Small> {};

TEST_P(Restored, ItsOwnContextIsTaken) {
  Context context(GetParam().spec.c_str());
  const auto method = context.restored();
  EXPECT_EQ(error_if_any([&] { method->check_restored(context.run.store, kRestoredTokens); }), "");
  context.run.decode(3);
  const auto later = context.restored();
  EXPECT_EQ(error_if_any([&] { later->check_restored(context.run.store, kRestoredTokens + 3); }),
            "");
}

TEST_P(Restored, AListOfAnotherLengthIsRefused) {
  Context context(GetParam().spec.c_str());
  const auto method = context.restored();
  KvStore& store = context.run.store;
  for (const int layer : {0, 1, 2}) {
    if (GetParam().setting.lists_differ && layer != 1) continue;
    KvStore shorter = store.fork();
    shorter.truncate(layer, 1, shorter.length(layer, 1) - 1);
    const std::string error =
        error_if_any([&] { method->check_restored(shorter, kRestoredTokens); });
    EXPECT_NE(error.find(fmt::format("layer {} keeps ", layer)), std::string::npos) << error;
    EXPECT_NE(error.find("in list 1, expected "), std::string::npos) << error;
  }
}

TEST_P(Restored, RowsThatMustBeInMemoryAreRefusedInTheSlowerTier) {
  Context context(GetParam().spec.c_str(), testing_support::small_shape(3, 2, 2, 16));
  KvStore& store = context.run.store;
  const KvLayout& layout = store.layout();
  KvStore small_pages({layout.heads, layout.head_dim, layout.type, 4});
  const std::vector<float> row(static_cast<size_t>(layout.head_dim));
  for (int layer = 0; layer < layout.layers(); ++layer) {
    for (int head = 0; head < layout.heads[static_cast<size_t>(layer)]; ++head) {
      for (int64_t i = 0; i < store.length(layer, head); ++i) {
        small_pages.append(layer, head, 1, std::span(row), std::span(row), layout.head_dim);
      }
    }
  }
  const auto method = context.restored();
  EXPECT_EQ(error_if_any([&] { method->check_restored(small_pages, kRestoredTokens); }), "");
  const int64_t end = small_pages.length(2, 0);
  small_pages.spill(2, 0, end - 8, end);
  EXPECT_EQ(error_if_any([&] { method->check_restored(small_pages, kRestoredTokens); }),
            "layer 2 has rows of list 0 in the slower tier that must be in memory");
}

INSTANTIATE_TEST_SUITE_P(
    EveryMethod, Restored,
    ::testing::ValuesIn(testing_support::small_settings(testing_support::tested_methods())),
    [](const auto& each) { return testing_support::test_name(each.param.spec); });

TEST(RestoredState, NumbersOfRowsAreThoseOfTheStore) {
  for (const char* text : {"citrus:k=16,chunk=8", "h2o:budget=24,stride=8,sink=2,recent=4",
                           "roco:budget=24,stride=8,sink=2,recent=4",
                           "tova:mode=easykv,capacity=24,stride=8,sink=2,recent=4"}) {
    Context context(text);
    const int64_t held = context.run.store.length(2, 0);
    for (const int64_t number : {int64_t{-1}, int64_t{0}, held - 1, held + 1, INT64_MAX}) {
      const auto method = context.restored([&](ByteWriter& out) { out.number(number); });
      EXPECT_EQ(error_if_any([&] { method->check_restored(context.run.store, kRestoredTokens); }),
                fmt::format("layer 0 keeps {} rows in list 0, expected {}", held, number))
          << text;
    }
  }
}

TEST(RestoredState, AStoreThatForgotIsNoneThatDidNot) {
  for (const char* text : {"snapkv:capacity=24,window=8", "tova:capacity=24,stride=8"}) {
    Context context(text);
    const auto method = context.restored([](ByteWriter& out) { out.number<uint8_t>(0); });
    EXPECT_EQ(error_if_any([&] { method->check_restored(context.run.store, kRestoredTokens); }),
              "layer 0 keeps 24 rows in list 0, expected 61")
        << text;
  }
}

TEST(RestoredState, FastGenKnowsEveryToken) {
  Context context("fastgen:threshold=0.5");
  const auto check = [&](int64_t begin, size_t classes) {
    const auto method = context.restored([&](ByteWriter& out) {
      out.number(begin);
      out.array(std::span<const uint8_t>(std::vector<uint8_t>(6)));
      out.array(std::span<const uint8_t>(std::vector<uint8_t>(classes)));
    });
    return error_if_any([&] { method->check_restored(context.run.store, kRestoredTokens); });
  };
  EXPECT_EQ(check(0, 61), "");
  EXPECT_EQ(check(62, 61), "classes of 61 tokens, a prompt that began at 62, in a context of 61");
  EXPECT_EQ(check(0, 60), "classes of 60 tokens, a prompt that began at 0, in a context of 61");
}

TEST(RestoredState, MInferenceTakesNoPatternThatIsNone) {
  Context context("minference:dense_below=0,vertical=8,slash=8",
                  testing_support::small_shape(1, 1, 1, 16));
  const auto check = [&](uint8_t kind, int64_t vertical, int64_t slash) {
    return error_if_any([&] {
      context.restored([&](ByteWriter& out) {
        out.number<uint8_t>(0);
        out.number(kind);
        out.number(vertical);
        out.number(slash);
      });
    });
  };
  EXPECT_EQ(check(1, 8, 0), "");
  for (const std::string& error :
       {check(3, 8, 8), check(1, -1, 8), check(1, 8, 1 << 25), check(0, 8, 0)}) {
    EXPECT_NE(error.find("damaged: it does not hold minference's patterns"), std::string::npos);
  }
}

/// Blocks of 4 tokens after 3 initial ones and before a window of 12: there are 11 at 61 tokens.
constexpr int64_t kBlocks = 11;

TEST(RestoredState, InfLlmHasVectorsOfEveryBlockInTheTypeThatItAdds) {
  Context context("infllm:n_init=3,n_local=12,block=4,topk=2,cached=3,chunk=8,repr_topk=2",
                  testing_support::small_shape(1, 1, 2, 16));
  const auto check = [&](int64_t votes, DType type, int64_t elements) {
    const auto method = context.restored([&](ByteWriter& out) {
      out.array(std::span<const float>(std::vector<float>(static_cast<size_t>(votes))));
      out.number(static_cast<uint8_t>(type));
      out.array(std::span<const uint8_t>(
          std::vector<uint8_t>(static_cast<size_t>(bytes_of(type, elements)))));
    });
    return error_if_any([&] { method->check_restored(context.run.store, kRestoredTokens); });
  };
  const int64_t votes = (kRestoredTokens - 3 - 4 * kBlocks) * 2, elements = kBlocks * 2 * 16;
  EXPECT_EQ(check(votes, DType::BF16, elements), "");
  EXPECT_EQ(check(votes - 2, DType::BF16, elements),
            "layer 0 has 26 votes of its tokens, expected 28");
  const std::string other = "layer 0 has an index of blocks of another context";
  EXPECT_EQ(check(votes, DType::BF16, elements - 32), other);
  EXPECT_EQ(check(votes, DType::F32, elements), other);
}

TEST(RestoredState, LtriKnowsNoBlocksThatThereAreNot) {
  Context context("ltri:n_init=3,n_local=12,block=4,topk=2,cached=3,chunk=8,last=8",
                  testing_support::small_shape(1, 1, 2, 16));
  // One span of one vector in each block.
  const auto check = [&](const std::vector<int32_t>& chosen, int32_t known, int64_t maps) {
    return error_if_any([&] {
      const auto method = context.restored([&](ByteWriter& out) {
        const int64_t votes = (kRestoredTokens - 3 - 4 * kBlocks) * 2;
        out.array(std::span<const float>(std::vector<float>(static_cast<size_t>(votes))));
        out.array(std::span<const float>(std::vector<float>(static_cast<size_t>(maps))));
        std::vector<int32_t> ends(kBlocks);
        for (size_t i = 0; i < ends.size(); ++i) ends[i] = static_cast<int32_t>(i + 1);
        out.array(std::span<const float>());
        out.number<uint64_t>(1);
        out.number(static_cast<uint8_t>(DType::BF16));
        out.array(std::span<const uint8_t>(std::vector<uint8_t>(kBlocks * 16 * 2)));
        out.array(std::span<const int32_t>(ends));
        out.array(std::span<const int32_t>(ends));
        out.array(std::span<const int32_t>(chosen));
        out.number(known);
      });
      method->check_restored(context.run.store, kRestoredTokens);
    });
  };
  const int64_t maps = (kRestoredTokens - 3 - 4 * kBlocks) * 4;
  EXPECT_EQ(check({2, 7}, kBlocks, maps), "");
  const std::string other = "layer 0 has an index of blocks of another context";
  EXPECT_EQ(check({2, 7}, kBlocks + 1, maps), other);
  EXPECT_EQ(check({2, 7}, kBlocks, maps - 4), other);
  for (const auto& [chosen, known] : std::vector<std::pair<std::vector<int32_t>, int32_t>>{
           {{7, 2}, 11}, {{2, 2}, 11}, {{-1, 2}, 11}, {{2, 7}, 7}, {{1, 2, 3}, 11}, {{}, -5}}) {
    EXPECT_NE(check(chosen, known, maps).find("damaged: blocks out of order"), std::string::npos);
  }
}

}  // namespace
}  // namespace longhaul
