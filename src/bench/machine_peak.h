#pragma once
// Measured peak speeds of this machine: products of the GEMM library and reading memory.

#include <cstdint>
#include <vector>

#include "bench/library_gemm.h"
#include "model/model.h"
#include "ops/matmul/linear.h"

namespace longhaul {

struct GemmPeak {
  GemmShape shape;
  bool of_model = false;  ///< one of the model's own matrices, with a chunk of rows
  double bf16 = 0;        ///< FLOP/s of the GEMM library; 0: it does not support this product
  double f32 = 0;
  double engine = 0;  ///< FLOP/s of the engine's own product in the selected compute type
};

struct MachinePeak {
  std::vector<GemmPeak> gemms;
  /// bytes read; for a device the bytes that a copy reads and writes
  double memory_bytes_per_second = 0;

  /// The fastest of all products, including the engine's own. Library products count in f32 and, if
  /// `rounded` allows them, in bf16.
  double best(bool rounded) const;
};

/// Sizes of the products; they take two to four seconds with a small model.
struct ProductLoad {
  int64_t rows = 1024;    ///< rows of every product, and all dimensions of the smallest one
  int64_t large = 4096;   ///< outputs and columns of the largest one
  double seconds = 0.15;  ///< for each product, at least
};

/// Measures large square-like products and the model's own, then memory. Allocates `read_bytes`
/// bytes, which must exceed the caches.
MachinePeak measure_machine(const Model& model, Compute compute, size_t read_bytes,
                            const ProductLoad& load = {});

/// The distinct matrix shapes of the model's first layer, for products with `rows` rows.
std::vector<GemmShape> shapes_of(const Model& model, int64_t rows);

/// A buffer size well beyond the last-level cache, but at most a quarter of the free memory.
size_t read_test_bytes();

}  // namespace longhaul
