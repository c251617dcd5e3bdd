#include "ops/matmul/code_books.h"

#include "ops/matmul/iq_grids.h"

namespace longhaul::cuda {
namespace {

/// `shift` converts a magnitude to its level number: 1, 9 and 17 (shift 3), or 8, 25 and 43 (shift
/// 4), become 0, 1 and 2.
template <size_t N>
std::vector<uint32_t> numbers_of(const CodeBook<uint64_t, N>& book, int shift) {
  std::vector<uint32_t> words;
  for (const uint64_t entry : book.entry) {
    uint32_t word = 0;
    for (int i = 0; i < 8; ++i) {
      word |= static_cast<uint32_t>((entry >> (8 * i) & 255) >> shift) << (4 * i);
    }
    words.push_back(word);
  }
  return words;
}

template <size_t N>
std::vector<uint32_t> words_of(const CodeBook<uint32_t, N>& book) {
  return {book.entry, book.entry + N};
}

}  // namespace

std::vector<uint32_t> code_book(DType type) {
  switch (type) {
    case DType::IQ1_S:
    case DType::IQ1_M:
      return numbers_of(kGridIQ1_S, 3);
    case DType::IQ2_XXS:
      return numbers_of(kGridIQ2_XXS, 4);
    case DType::IQ2_XS:
      return numbers_of(kGridIQ2_XS, 4);
    case DType::IQ2_S:
      return numbers_of(kGridIQ2_S, 4);
    case DType::IQ3_XXS:
      return words_of(kGridIQ3_XXS);
    case DType::IQ3_S:
      return words_of(kGridIQ3_S);
    default:
      return {};
  }
}

}  // namespace longhaul::cuda
