#!/usr/bin/env python3
"""Writes src/ops/matmul/iq_grids.cc: the code books of the IQ block types, as the gguf package (MIT licence) has them.

Needs: pip install gguf.   Run: tools/make_iq_grids.py
"""
import pathlib

from gguf import quants

GRIDS = ["IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ1_S"]
WIDTH = 90
HEAD = """// Written by tools/make_iq_grids.py from the gguf package (MIT licence): the code books of the IQ block
// types, which are part of their format. Each entry of a book is 8 (IQ3: 4) numbers of 2 (3) bits
// that stand for the levels named beside it; two hexadecimal digits are one byte, the first numbers
// in its low bits.

#include "ops/matmul/iq_grids.h"

namespace longhaul {
namespace {

constexpr uint64_t digit(char c) {
  return static_cast<uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
}

/// `Numbers` levels an entry, a byte each.
template <class Entry, size_t N, size_t Levels>
constexpr CodeBook<Entry, N> book(const char* hex, const uint8_t (&levels)[Levels]) {
  constexpr int kNumbers = sizeof(Entry), kBits = Levels <= 4 ? 2 : 4, kPerByte = 8 / kBits;
  CodeBook<Entry, N> entries{};
  for (size_t n = 0; n < N; ++n) {
    for (int i = 0; i < kNumbers; ++i) {
      const char* byte = hex + 2 * ((static_cast<int>(n) * kNumbers + i) / kPerByte);
      const uint64_t packed = digit(byte[0]) << 4 | digit(byte[1]);
      const uint64_t code = packed >> (i % kPerByte * kBits) & (Levels <= 4 ? 3 : 7);
      entries.entry[n] = static_cast<Entry>(entries.entry[n] | Entry{levels[code]} << (8 * i));
    }
  }
  return entries;
}

"""


def text_of(name: str) -> str:
    grid = getattr(quants, name)
    grid.init_grid()
    hexadecimal = bytes(grid.grid_hex).decode()
    lines = [f'    "{hexadecimal[i:i + WIDTH]}"' for i in range(0, len(hexadecimal), WIDTH)]
    return f"constexpr char k{name}[] =\n" + "\n".join(lines) + ";\n"


def definition(name: str) -> str:
    grid = getattr(quants, name)
    entries, numbers = grid.grid_shape
    # The levels of IQ1 are -1, 0 and 1. They are stored in eighths above -9/8.
    levels = [8 * (level + 1) + 1 for level in grid.grid_map] if name == "IQ1_S" else grid.grid_map
    text = ", ".join(str(int(level)) for level in levels)
    kind = "uint64_t" if numbers == 8 else "uint32_t"
    return (f"constexpr uint8_t kLevels{name}[] = {{{text}}};\n"
            f"constinit const CodeBook<{kind}, {entries}> kGrid{name} =\n"
            f"    book<{kind}, {entries}>(k{name}, kLevels{name});\n")


def main() -> None:
    path = pathlib.Path(__file__).parent.parent / "src/ops/matmul/iq_grids.cc"
    tables = "\n".join(text_of(name) for name in GRIDS)
    grids = "\n".join(definition(name) for name in GRIDS)
    path.write_text(HEAD + tables + "\n}  // namespace\n\n" + grids + "\n}  // namespace longhaul\n")
    print(path)


if __name__ == "__main__":
    main()
