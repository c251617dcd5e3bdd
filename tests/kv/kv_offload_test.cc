#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <limits>

#include "base/byte_stream.h"
#include "base/error.h"
#include "format/temp_folder.h"
#include "kv/plain_store.h"

namespace longhaul {
namespace {

using namespace testing_support;

constexpr int kDim = 32;

struct Filled {
  Filled(KvType type, int64_t rows) : store(KvLayout{{1}, kDim, type, 16}) { append(rows); }
  void append(int64_t rows) {
    for (int64_t i = 0; i < rows; ++i) {
      const auto k = random_row(kDim, random), v = random_row(kDim, random);
      store.append(0, 0, 1, view_of(k), view_of(v), kDim);
      plain.append(as_stored(store.layout().type.k, true, k),
                   as_stored(store.layout().type.v, false, v));
    }
  }
  void check(KvStore& other) const {
    expect_same(other, 0, 0, plain);
    EXPECT_EQ(other.bytes(), other.count_bytes());
  }

  std::mt19937 random{29};
  KvStore store;
  PlainHead plain;
};

TEST(KvOffload, PagesLeaveMemoryAndComeBackUnchanged) {
  for (const KvType type : kKvTypes) {
    Filled filled(type, 100);
    KvStore& store = filled.store;
    filled.check(store);
    const size_t page = store.layout().page_bytes(), columns = 100 * sizeof(float);
    store.spill(0, 0, 5, 79);  // rows 16 .. 63
    EXPECT_EQ(store.spilled_bytes(), 3 * page);
    EXPECT_LE(store.bytes(), 4 * page + 2 * columns);
    filled.check(store);  // read() finds the rows
    store.load(0, 0, 31, 33);
    EXPECT_EQ(store.spilled_bytes(), page);
    EXPECT_NE(store.rows(0, 0).pages[1], nullptr);
    EXPECT_EQ(store.rows(0, 0).pages[3], nullptr);
    store.load(0, 0, 0, 100);
    EXPECT_EQ(store.spilled_bytes(), 0u);
    filled.check(store);
  }
}

TEST(KvOffload, RandomUseNeverLosesARow) {
  std::mt19937 random(5);
  Filled filled(DType::BF16, 40);
  for (int step = 0; step < 600; ++step) {
    KvStore& store = filled.store;
    const int64_t length = store.length(0, 0);
    const int64_t begin = static_cast<int64_t>(random() % static_cast<unsigned>(length + 1));
    const int64_t end =
        begin + static_cast<int64_t>(random() % static_cast<unsigned>(length - begin + 1));
    switch (random() % 8) {
      case 0:
      case 1:
        store.spill(0, 0, begin, end);
        break;
      case 2:
        store.load(0, 0, begin, end);
        break;
      case 3:
      case 4:
        filled.append(begin % 23);
        break;
      case 5:  // a shorter length, then other rows in its place
        store.truncate(0, 0, std::max<int64_t>(1, end));
        filled.plain.truncate(std::max<int64_t>(1, end));
        break;
      case 6: {
        std::vector<int32_t> rows;
        for (int32_t row = 0; row < length; ++row) {
          if (row < begin || row >= end) rows.push_back(row);
        }
        if (rows.empty()) break;
        if (random() % 2 == 0) {
          store.keep(0, 0, rows);
        } else {
          store.drop(0, 0, begin, end);
        }
        filled.plain.keep(rows);
        break;
      }
      default:
        filled.check(store);
        break;
    }
  }
  filled.check(filled.store);
}

TEST(KvOffload, AForkKeepsWhatTheOtherDropsOrWrites) {
  Filled filled(DType::BF16, 64);
  filled.store.spill(0, 0, 0, 64);
  KvStore copy = filled.store.fork();
  const PlainHead before = filled.plain;
  filled.store.truncate(0, 0, 20);
  filled.plain.truncate(20);
  filled.append(60);
  filled.store.spill(0, 0, 0, 80);  // the fork keeps the slots of the dropped pages
  filled.check(filled.store);
  expect_same(copy, 0, 0, before);
  filled.store.clear();
  copy.load(0, 0, 0, 64);
  expect_same(copy, 0, 0, before);
}

TEST(KvOffload, ASessionFileRestoresRowsIntoTheTierTheyWereIn) {
  const TempFolder folder;
  Filled filled(DType::BF16, 90);
  filled.store.spill(0, 0, 16, 64);
  {
    ByteWriter out(folder.path() / "kv");
    filled.store.save(out);
    out.finish();
  }
  KvStore other(filled.store.layout());
  ByteReader in(folder.path() / "kv");
  other.restore(in);
  EXPECT_EQ(other.spilled_bytes(), filled.store.spilled_bytes());
  filled.check(other);
  other.load(0, 0, 0, 90);
  filled.check(other);
}

TEST(PageFile, ASlotLivesUntilItsLastOwnerLeaves) {
  PageFile file(64);
  std::vector<std::byte> page(64, std::byte{1}), got(64);
  const uint32_t slot = file.write(page.data());
  file.share(slot);
  file.release(slot);
  EXPECT_EQ(file.pages_in_use(), 1u);
  file.read(slot, got.data());
  EXPECT_EQ(got, page);
  file.release(slot);
  EXPECT_EQ(file.pages_in_use(), 0u);
  EXPECT_EQ(file.write(page.data()), slot);  // the slot is reused
}

TEST(PageFile, LeavesNothingInItsFolder) {
  const TempFolder folder;
  PageFile file(64, folder.path());
  const std::vector<std::byte> page(64);
  file.write(page.data());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(PageFile, AMissingFolderIsNamed) {
  PageFile file(64, "/no/such/folder");
  const std::vector<std::byte> page(64);
  EXPECT_TRUE(has(error_of([&] { file.write(page.data()); }), {"/no/such/folder", "TMPDIR"}));
}

TEST(KvOffload, AFullDiskIsAnErrorOfTheUserAndLosesNothing) {
  // A limit on file sizes simulates the full disk.
  Filled filled(DType::F32, 64);
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit low{2 * filled.store.layout().page_bytes() + 100, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  const std::string said = error_of([&] { filled.store.spill(0, 0, 0, 64); });
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(said.find("TMPDIR"), std::string::npos) << said;
  EXPECT_EQ(filled.store.spilled_bytes(), 2 * filled.store.layout().page_bytes());
  filled.check(filled.store);
  filled.store.spill(0, 0, 0, 64);  // space is available again
  EXPECT_EQ(filled.store.spilled_bytes(), 4 * filled.store.layout().page_bytes());
  filled.check(filled.store);
}

}  // namespace
}  // namespace longhaul
