#include "bench/library_gemm.h"

#include <omp.h>

#include <cstring>
#include <dnnl.hpp>

#include "base/parallel.h"
#include "bench/best_rate.h"
#include "ops/core/isa/library_isa.h"
#include "ops/core/library_matmul.h"

namespace longhaul {
namespace {

using dnnl::memory;

constexpr int kFewestRuns = 3;

/// Small numbers that are not denormal in either type.
void fill(memory& m) { std::memset(m.get_data_handle(), 0x3c, m.get_desc().get_size()); }

}  // namespace

double library_gemm_flops(const GemmShape& s, GemmType type, double seconds) {
  limit_library_isa();
  omp_set_num_threads(thread_count());
  const auto element = type == GemmType::kBf16 ? memory::data_type::bf16 : memory::data_type::f32;
  try {
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(engine);
    const memory::desc a({s.m, s.k}, element, memory::format_tag::ab);
    const memory::desc b({s.k, s.n}, element, memory::format_tag::any);
    const memory::desc c({s.m, s.n}, memory::data_type::f32, memory::format_tag::ab);
    const dnnl::matmul::primitive_desc description = library_matmul(engine, a, b, c);
    const dnnl::matmul product(description);
    memory a_memory(description.src_desc(), engine), b_memory(description.weights_desc(), engine),
        c_memory(description.dst_desc(), engine);
    fill(a_memory);
    fill(b_memory);
    const double runs = best_rate(seconds, kFewestRuns, [&] {
      product.execute(
          stream,
          {{DNNL_ARG_SRC, a_memory}, {DNNL_ARG_WEIGHTS, b_memory}, {DNNL_ARG_DST, c_memory}});
      stream.wait();
    });
    return runs * 2 * static_cast<double>(s.m) * static_cast<double>(s.n) *
           static_cast<double>(s.k);
  } catch (const dnnl::error&) {  // bf16 before AVX-512
    return 0;
  }
}

}  // namespace longhaul
