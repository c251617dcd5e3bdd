#pragma once
// The index of one layer's blocks: every block is a list of spans, every span a list of vectors
// (Ltri-LLM, methods.md 4.3, 4.5).

#include <cstdint>
#include <span>
#include <vector>

#include "ops/matvec.h"

namespace longhaul {

class ByteReader;
class ByteWriter;

enum class SpanSimilarity : uint8_t { kSum, kMax };

class SpanIndex {
 public:
  /// A block is added span by span; vectors are [count, width].
  void add_span(std::span<const float> vectors, int64_t width);
  void end_block() { block_ends_.push_back(static_cast<int32_t>(span_ends_.size())); }

  int64_t blocks() const { return static_cast<int64_t>(block_ends_.size()); }
  int64_t vectors() const { return span_ends_.empty() ? 0 : span_ends_.back(); }

  /// Score of every block: the largest over its spans and over the queries ([count, width]) of the
  /// sum, or the largest, of <query, vector> over the span's vectors.
  std::vector<float> scores(std::span<const float> queries, int64_t width,
                            SpanSimilarity rule) const;

  void save(ByteWriter& out) const;
  /// Throws UserError when the file makes no sense.
  void restore(ByteReader& in, int64_t width);

 private:
  int64_t vectors_before(size_t block) const;
  void raise(const float* dot, size_t first, size_t last, SpanSimilarity rule,
             std::vector<float>& scores) const;

  std::vector<float> vectors_;       ///< [vectors, width]
  std::vector<int32_t> span_ends_;   ///< per span: vectors up to its end
  std::vector<int32_t> block_ends_;  ///< per block: spans up to its end
};

}  // namespace longhaul
