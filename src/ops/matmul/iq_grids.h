#pragma once
// The code books of the IQ block types. An entry has 8 magnitudes (in IQ3: 4) of one byte each. The
// first magnitude is in the low bits. In IQ1, bytes 1, 9 and 17 stand for -1, 0 and 1.

#include <cstddef>
#include <cstdint>

namespace longhaul {

template <class Entry, size_t N>
struct CodeBook {
  Entry entry[N];
};

extern const CodeBook<uint64_t, 256> kGridIQ2_XXS;
extern const CodeBook<uint64_t, 512> kGridIQ2_XS;
extern const CodeBook<uint64_t, 1024> kGridIQ2_S;
extern const CodeBook<uint32_t, 256> kGridIQ3_XXS;
extern const CodeBook<uint32_t, 512> kGridIQ3_S;
extern const CodeBook<uint64_t, 2048> kGridIQ1_S;  ///< IQ1_M has the same code book

}  // namespace longhaul
