#include "ops/blocks/key_vectors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/float_types.h"
#include "format/temp_folder.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;
using testing_support::view_of;

const std::vector<float> kElements{1.5f, -2, 0.15625f, 1e-3f};  // the last one is rounded in bf16

float element(const KeyVectors& vectors, int64_t row, int64_t column) {
  const TensorView view = vectors.rows(2);
  const std::byte* at = view.row(row);
  if (view.type == DType::F32) return reinterpret_cast<const float*>(at)[column];
  return bf16_to_f32(reinterpret_cast<const bf16_t*>(at)[column]);
}

TEST(KeyVectors, AreF32ForF32KeysAndBf16ForOthers) {
  EXPECT_EQ(KeyVectors::type_for(DType::F32), DType::F32);
  for (const DType type : {DType::BF16, DType::F16, DType::Q8_0}) {
    EXPECT_EQ(KeyVectors::type_for(type), DType::BF16);
  }
}

TEST(KeyVectors, KeepRowsInTheirOrderAndAreRestored) {
  for (const DType type : {DType::F32, DType::BF16}) {
    KeyVectors vectors;
    vectors.append(host_queue(), view_of(kElements).part(0, 2), type);
    vectors.append(host_queue(), view_of(kElements).from(2), type);
    const TempFolder folder;
    ByteWriter out(folder.path() / "v");
    Archive writing(out);
    vectors.archive(writing);
    out.finish();
    ByteReader in(folder.path() / "v");
    Archive reading(in);
    KeyVectors restored;
    restored.archive(reading);
    for (const KeyVectors* each : {&vectors, &restored}) {
      EXPECT_EQ(each->type(), type);
      EXPECT_EQ(each->elements(), 4);
      for (int64_t i = 0; i < 4; ++i) {
        const float x = kElements[static_cast<size_t>(i)];
        EXPECT_EQ(element(*each, i / 2, i % 2),
                  type == DType::F32 ? x : bf16_to_f32(f32_to_bf16(x)));
      }
    }
  }
}

TEST(KeyVectors, InFourBitsHoldNumbersOnly) {
  KeyVectors vectors;
  std::vector<float> elements(64, 1.0f);
  elements[3] = std::numeric_limits<float>::quiet_NaN();
  elements[40] = std::numeric_limits<float>::infinity();
  vectors.append(host_queue(), view_of(elements), DType::Q4_0);
  EXPECT_EQ(vectors.elements(), 64);
  EXPECT_EQ(vectors.bytes(), 36u);
  const TensorView rows = vectors.rows(32);
  for (int64_t row = 0; row < 2; ++row) {
    f16_t scale;
    std::memcpy(&scale, rows.row(row), sizeof scale);
    EXPECT_TRUE(std::isfinite(f16_to_f32(scale))) << row;
  }
}

TEST(KeyVectors, RefuseOtherTypesAndPartsOfElements) {
  const auto refused = [](DType type, size_t bytes) {
    const TempFolder folder;
    ByteWriter out(folder.path() / "v");
    out.number(static_cast<uint8_t>(type));
    out.array(std::span<const uint8_t>(std::vector<uint8_t>(bytes)));
    out.finish();
    ByteReader in(folder.path() / "v");
    Archive archive(in);
    KeyVectors vectors;
    return error_of([&] { vectors.archive(archive); });
  };
  EXPECT_NE(refused(DType::Q8_0, 34).find("damaged"), std::string::npos);
  EXPECT_NE(refused(static_cast<DType>(200), 4).find("damaged"), std::string::npos);
  EXPECT_NE(refused(DType::F32, 7).find("damaged"), std::string::npos);
  EXPECT_NE(refused(DType::Q4_0, 17).find("damaged"), std::string::npos);
}

}  // namespace
}  // namespace longhaul
