#pragma once
// What this machine can do at most, measured: products of the GEMM library and reading memory.

#include <cstdint>
#include <vector>

#include "bench/library_gemm.h"
#include "model/model.h"
#include "ops/matmul/linear.h"

namespace longhaul {

struct GemmPeak {
  GemmShape shape;
  bool of_model = false;  ///< one of the model's own matrices, a chunk of rows at a time
  double bf16 = 0;  ///< FLOP/s of the GEMM library; 0: this machine's library has no such product
  double f32 = 0;
  double engine = 0;  ///< of the engine's own product at the compute type in force
};

struct MachinePeak {
  std::vector<GemmPeak> gemms;
  double memory_bytes_per_second = 0;  ///< read; of a device what a copy reads and writes

  /// The fastest product of all, the engine's own included; of the library's those in f32 and,
  /// where `rounded` allows them, in bf16.
  double best(bool rounded) const;
};

/// How much is multiplied: what takes two to four seconds with a small model.
struct ProductLoad {
  int64_t rows = 1024;    ///< of every product, and all sides of the smallest one
  int64_t large = 4096;   ///< outputs and columns of the largest one
  double seconds = 0.15;  ///< for each product, at least
};

/// Large square-like products and the model's own, then memory. Takes as much memory as
/// `read_bytes` (which the caches must not hold).
MachinePeak measure_machine(const Model& model, Compute compute, size_t read_bytes,
                            const ProductLoad& load = {});

/// The distinct matrix shapes of the model's first layer, for products of so many rows.
std::vector<GemmShape> shapes_of(const Model& model, int64_t rows);

/// A buffer size well beyond the last cache, but at most a quarter of the free memory.
size_t read_test_bytes();

}  // namespace longhaul
