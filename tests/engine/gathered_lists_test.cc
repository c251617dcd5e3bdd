// Methods that read prompts sparsely, on a device that gathers some lists at a time. They answer as
// on the host, from copies that are overwritten by the next ones.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "attention/test_name.h"
#include "engine/short_nano.h"
#include "engine/two_places.h"
#include "ops/attention/gather_lists.h"
#include "ops/fake_device.h"

namespace longhaul {
namespace {

class GatheringQueue : public testing_support::FakeDevice {
 public:
  GatheringQueue() {
    operations().set(kGatherLists,
                     [this](std::span<const PagedRows> lists, int64_t keys, int64_t rows,
                            std::span<PagedRows> to) { return gather(lists, keys, rows, to); });
    operations().set(kAttend, [this](const AttendCall&, std::span<const AttendTask> tasks) {
      return look_at(tasks);
    });
  }

  static constexpr size_t kAtOnce = 2;
  static constexpr int64_t kLeastRows = 100;  ///< passes of 64 rows, two query heads per list
  int gathered = 0, read_copies = 0, read_others = 0;

 private:
  int gather(std::span<const PagedRows> lists, int64_t keys, int64_t rows,
             std::span<PagedRows> to) {
    std::ranges::fill(bytes_, std::byte{0xFF});
    if (rows < kLeastRows) return 0;
    const size_t some = std::min(lists.size(), kAtOnce);
    const int64_t page_rows = lists.front().page_rows;
    const auto pages = static_cast<size_t>((keys + page_rows - 1) / page_rows);
    const size_t page_bytes = lists.front().page_bytes();
    bytes_.resize(some * pages * page_bytes);
    addresses_.resize(some * pages);
    for (size_t i = 0; i < addresses_.size(); ++i) {
      std::byte* const copy = bytes_.data() + i * page_bytes;
      std::memcpy(copy, lists[i / pages].pages[i % pages], page_bytes);
      addresses_[i] = copy;
    }
    for (size_t list = 0; list < some; ++list) {
      to[list] = lists[list];
      to[list].pages = addresses_.data() + list * pages;
    }
    gathered += static_cast<int>(some);
    return static_cast<int>(some);
  }
  /// Inspects the call and leaves it to the host.
  bool look_at(std::span<const AttendTask> tasks) {
    for (const AttendTask& task : tasks) {
      for (const KeySegment& keys : task.segments) {
        if (keys.count > 0) ++(is_copy(keys.rows) ? read_copies : read_others);
      }
    }
    return false;
  }
  bool is_copy(const PagedRows& rows) const {
    return !addresses_.empty() && rows.pages >= addresses_.data() &&
           rows.pages < addresses_.data() + addresses_.size();
  }

  std::vector<std::byte> bytes_;
  std::vector<const std::byte*> addresses_;
};

void expect_answers_from_copies(const std::string& spec) {
  const auto engine = testing_support::short_nano();
  const auto device = std::make_shared<GatheringQueue>();
  const testing_support::TwoPlaces places(engine, spec, Queue(device), {DType::Q8_0, DType::Q4_0});
  places.expect_same_answers_and_sessions();
  EXPECT_GT(device->gathered, 0);
  EXPECT_GT(device->read_copies, 0);
  EXPECT_GT(device->read_others, 0);  // by replies and short passes
}

class GatheringDevice : public ::testing::TestWithParam<const char*> {};

TEST_P(GatheringDevice, AnswersAsTheHost) { expect_answers_from_copies(GetParam()); }

/// The head between two gathered ones belongs to another part of the method.
TEST(GatheringDeviceOfSomeHeads, GathersTheirListsAlone) {
  const testing_support::TempFolder folder;
  const std::string gates = (folder.path() / "gates.tsv").string();
  std::ofstream file(gates);
  for (int layer = 0; layer < testing_support::kShortNanoLayers; ++layer) file << "1\t0\t1\n";
  file.close();
  expect_answers_from_copies("duo:gates=" + gates +
                             ",threshold=0.5,dense=minference,dense_options=dense_below=0");
}

INSTANTIATE_TEST_SUITE_P(
    Sparse, GatheringDevice,
    ::testing::Values("minference:dense_below=0,vertical=8,slash=16",
                      "minference:dense_below=100,pattern=blocks,vertical=2",
                      "flexprefill:dense_below=0,min_budget=8", "xattention:dense_below=0",
                      "duo:sparsity=0,dense=minference,dense_options=dense_below=0"),
    [](const auto& test) { return testing_support::test_name(test.param); });

}  // namespace
}  // namespace longhaul
