#pragma once
// Describes a matrix product to the GEMM library oneDNN. Versions 2 and 3 of oneDNN have different
// interfaces for this.

#include <dnnl.hpp>

namespace longhaul {

/// Returns the description of the product c = a b. Throws dnnl::error if oneDNN has no kernel for
/// the types of a, b and c.
inline dnnl::matmul::primitive_desc library_matmul(const dnnl::engine& engine,
                                                   const dnnl::memory::desc& a,
                                                   const dnnl::memory::desc& b,
                                                   const dnnl::memory::desc& c,
                                                   const dnnl::primitive_attr& attributes = {}) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, a, b, c, attributes};
#else
  return {dnnl::matmul::desc(a, b, c), attributes, engine};
#endif
}

}  // namespace longhaul
