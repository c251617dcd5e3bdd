#include <gtest/gtest.h>

#include "base/parallel.h"
#include "kv/page_pool.h"
#include "kv/store_pair.h"

namespace longhaul {
namespace {

using namespace testing_support;

TEST(KvStore, EachKvHeadFeedsNeighbouringHeads) {
  for (const int threads : {1, 2}) {
    set_thread_count(threads);
    std::mt19937 random(5);
    Pair pair(KvLayout{{6}, 32, DType::BF16, 16});
    const std::vector<float> k = random_row(700 * 2 * 32, random);
    const std::vector<float> v = random_row(700 * 2 * 32, random);
    pair.store.append(0, 700, view_of(k), view_of(v));
    for (int head = 0; head < 6; ++head) {
      for (std::ptrdiff_t row = 0; row < 700; ++row) {
        const auto from = (row * 2 + head / 3) * 32;
        const auto stored = [&](const std::vector<float>& x) {
          return as_stored(DType::BF16, false, {x.begin() + from, x.begin() + from + 32});
        };
        pair.at(0, head).append(stored(k), stored(v));
      }
    }
    pair.check();
  }
}

/// Memory that counts the requests.
class CountingMemory final : public PageMemory {
 public:
  explicit CountingMemory(size_t page_bytes) : pool_(page_bytes) {}
  Place place() const override { return pool_.place(); }
  size_t page_bytes() const override { return pool_.page_bytes(); }
  std::byte* acquire() override {
    ++acquired;
    return pool_.acquire();
  }
  void share(std::byte* page) override { pool_.share(page); }
  void release(std::byte* page) override { pool_.release(page); }
  bool shared(const std::byte* page) const override { return pool_.shared(page); }
  size_t pages_in_use() const override { return pool_.pages_in_use(); }

  int acquired = 0;

 private:
  PagePool pool_;
};

TEST(KvStore, TakesItsPagesFromTheMemoryThatItIsGiven) {
  const KvLayout layout{{1}, 32, DType::F32, 16};
  const auto memory = std::make_shared<CountingMemory>(layout.page_bytes());
  std::mt19937 random(5);
  {
    Pair first(KvStore(layout, memory), {{PlainHead()}});
    first.append_layer(0, 33, random);
    EXPECT_EQ(memory->acquired, 3);
    Pair second(first.store.fork(), first.plain);
    second.append_layer(0, 1, random);  // copies the shared page
    EXPECT_EQ(memory->acquired, 4);
    KvStore third(layout, memory);
    third.append(0, 1, view_of(std::as_const(second.at(0, 0).rows[0].k)),
                 view_of(std::as_const(second.at(0, 0).rows[0].v)));
    EXPECT_EQ(memory->pages_in_use(), 5u);
    first.check();
    second.check();
  }
  EXPECT_EQ(memory->pages_in_use(), 0u);
}

}  // namespace
}  // namespace longhaul
