// The device code's arithmetic with quantized weights, run on the host.

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "isa_fixture.h"
#include "ops/matmul/block_layout.h"
#include "ops/matmul/block_split.h"
#include "ops/matmul/block_units.h"
#include "ops/matmul/code_books.h"
#include "ops/matmul/dequantize.h"
#include "ops/matmul/matvec.h"
#include "reference_weights.h"

namespace longhaul {
namespace {

std::vector<DType> block_types() {
  std::vector<DType> types;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto type = static_cast<DType>(i);
    if (!cuda::block_fields(type).empty()) types.push_back(type);
  }
  return types;
}

struct BlockUnitMatrix {
  std::vector<uint8_t> bytes;
  TensorView view;
};

BlockUnitMatrix random_matrix(DType type, int64_t rows, int64_t cols) {
  BlockUnitMatrix m{random_weights(type, rows * cols, 5), {}};
  m.view.data = reinterpret_cast<const std::byte*>(m.bytes.data());
  m.view.type = type;
  m.view.rank = 2;
  m.view.shape = {rows, cols, 1, 1};
  return m;
}

/// A matrix in planes, like an uploaded one.
struct Planar {
  explicit Planar(const TensorView& m)
      : layout(cuda::plane_layout(m.type, m.rows(), m.cols())), book(cuda::code_book(m.type)) {
    planes.book = book.data();
    memory.resize(layout.bytes + 16);
    auto* base = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(memory.data()) + 15) &
                                            ~uintptr_t{15});
    const std::byte* at[cuda::kMostPlanes] = {};
    for (size_t f = 0; f < cuda::block_fields(m.type).size(); ++f) {
      planes.at[f] = base + layout.offset[f];
      at[f] = reinterpret_cast<const std::byte*>(planes.at[f]);
    }
    // Splits in two pieces, like a matrix that is uploaded in several.
    const auto block = static_cast<size_t>(traits(m.type).block_bytes);
    const size_t first = m.bytes() / block / 3 * block;
    if (cuda::splits_by_pairs(m.type)) {
      split<uint16_t>(m, 0, first, at);
      split<uint16_t>(m, first, m.bytes(), at);
    } else {
      split<uint8_t>(m, 0, first, at);
      split<uint8_t>(m, first, m.bytes(), at);
    }
  }

  template <class T>
  static void split(const TensorView& m, size_t begin, size_t end, const std::byte* const* at) {
    const auto first_block = static_cast<int64_t>(begin) / traits(m.type).block_bytes;
    const auto s = cuda::block_split<T>(m.type, m.data + begin, end - begin, first_block, at);
    for (uint32_t i = 0; i < s.count; ++i) cuda::split_piece(s, i);
  }

  cuda::PlaneLayout layout;
  std::vector<uint8_t> memory;
  std::vector<uint32_t> book;
  cuda::Planes planes{};
};

class CudaBlockUnits : public testing::TestWithParam<DType> {};

TEST_P(CudaBlockUnits, FieldsCoverTheBlock) {
  const DTypeTraits& t = traits(GetParam());
  std::vector<int> seen(static_cast<size_t>(t.block_bytes));
  for (const cuda::BlockField& field : cuda::block_fields(GetParam())) {
    for (int i = 0; i < field.bytes; ++i) ++seen[static_cast<size_t>(field.offset + i)];
  }
  EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
}

/// Enough weights that every byte occurs at every place of a block, and each of the 2,048 entries
/// of the largest code book 32 times.
TEST_P(CudaBlockUnits, WeightsHaveTheBitsOfDequantize) {
  const int64_t rows = 128, cols = 4096;
  const BlockUnitMatrix m = random_matrix(GetParam(), rows, cols);
  const Planar planar(m.view);
  std::vector<float> expected(static_cast<size_t>(rows * cols));
  std::vector<bf16_t> expected_bf16(expected.size());
  dequantize_rows(m.view, 0, rows, expected.data());
  dequantize_rows_bf16(m.view, 0, rows, expected_bf16.data());
  ASSERT_TRUE(cuda::with_units(GetParam(), [&](auto units) {
    using Units = decltype(units);
    for (size_t i = 0; i < expected.size(); ++i) {
      const auto block = static_cast<int64_t>(i / Units::kBlock);
      const auto [u, k] = Units::place(static_cast<int>(i % Units::kBlock / 16));
      const auto weights =
          cuda::weights_of<Units>(Units::load(planar.planes, block, u), u, k, planar.planes.book);
      const float got = cuda::weight_of<Units>(weights, static_cast<int>(i % 16));
      ASSERT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(expected[i])) << i;
      ASSERT_EQ(cuda::bf16_bits(got), expected_bf16[i]) << i;
    }
  }));
}

TEST_P(CudaBlockUnits, PlacesAreAllGroupsOnce) {
  cuda::with_units(GetParam(), [&](auto units) {
    using Units = decltype(units);
    EXPECT_EQ(cuda::code_book(GetParam()).size(), Units::kBook);
    static_assert(Units::kUnits * Units::kGroups * 16 == Units::kBlock);
    for (int u = 0; u < Units::kUnits; ++u) {
      for (int k = 0; k < Units::kGroups; ++k) {
        const auto place = Units::place(Units::group(u, k));
        EXPECT_EQ(place.u, u);
        EXPECT_EQ(place.k, k);
      }
    }
  });
}

/// Uses an instruction set for which every type reads ActivationGroups, as GPUs do.
TEST_P(CudaBlockUnits, ProductsEqualMatvec) {
  const RestoreIsaAndThreads restore;
  set_isa(Isa::kGeneric);
  const int64_t cols = 768;
  const BlockUnitMatrix m = random_matrix(GetParam(), 3, cols);
  const Planar planar(m.view);
  std::vector<float> x(static_cast<size_t>(cols));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % 257) / 100.0f - 1.2f;
  ActivationRows rows;
  rows.assign(x.data(), 1, cols);
  std::vector<float> expected(3);
  matvec(m.view, rows, expected.data());
  rows.quantize();
  cuda::with_units(GetParam(), [&](auto units) {
    using Units = decltype(units);
    for (int64_t r = 0; r < 3; ++r) {
      double sum = 0, size = 0;
      for (int64_t g = 0; g < cols / 16; ++g) {
        const int64_t in_block = g % (Units::kBlock / 16), block = g / (Units::kBlock / 16);
        const auto [u, k] = Units::place(static_cast<int>(in_block));
        const int64_t at = r * (cols / Units::kBlock) + block;
        const auto weights =
            cuda::weights_of<Units>(Units::load(planar.planes, at, u), u, k, planar.planes.book);
        const ActivationGroup& group = rows.groups(0)[g / 16];
        cuda::Word4 q;
        std::memcpy(&q, group.q + 16 * (g % 16), 16);
        const double product = static_cast<double>(
            cuda::group_product<Units>(weights, q, group.scale[g % 16], group.sum[g % 16], 0.0f));
        sum += product;
        size += std::abs(product);
      }
      EXPECT_NEAR(static_cast<double>(expected[static_cast<size_t>(r)]), sum, 1e-6 * size);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, CudaBlockUnits, testing::ValuesIn(block_types()),
                         [](const auto& test) { return std::string(name_of(test.param)); });

TEST(CudaBlockLayout, EveryTypeOfWeightsIsOnTheDevice) {
  for (int i = 0; i < kDTypeCount; ++i) {
    EXPECT_TRUE(cuda::on_device(static_cast<DType>(i))) << name_of(static_cast<DType>(i));
  }
}

TEST(CudaBlockLayout, PlanesAreAlignedAndAddNothing) {
  for (const DType type : block_types()) {
    const auto layout = cuda::plane_layout(type, 5, 512);
    for (int p = 0; p < layout.planes; ++p)
      EXPECT_EQ(layout.offset[static_cast<size_t>(p)] % 256, 0u);
    const size_t bytes = 5 * bytes_of(type, 512);
    EXPECT_GE(layout.bytes, bytes);
    EXPECT_LT(layout.bytes, bytes + 256 * cuda::kMostPlanes) << name_of(type);
  }
  EXPECT_EQ(cuda::plane_layout(DType::BF16, 3, 9).row_stride, 32u);
}

TEST(CudaNumbers, SixteenBitFloatsRoundAsOnTheHost) {
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 4099) {
    const auto x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    ASSERT_EQ(cuda::bf16_bits(x), f32_to_bf16(x)) << bits;
  }
}

}  // namespace
}  // namespace longhaul
