#pragma once
// Rows of keys and values in pages of device memory: the pages of kv/kv_layout.h (page_rows keys,
// then as many values), rounded as ops/attention/stored_key.h rounds them. A list of pages is an
// array of their addresses, itself in device memory; so are the records of the lists that a call
// works on.

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/attention/attention.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// The form of all pages of a call.
struct KvForm {
  KvType type;  ///< holds head_dim
  int head_dim = 0;
  int page_rows = 64;
};
inline KvForm form_of(const PagedRows& rows) { return {rows.type, rows.head_dim, rows.page_rows}; }

using PageTable = std::byte* const*;

/// A list that new rows are appended to.
struct AppendList {
  PageTable pages;
  int64_t first;    ///< the row of the list that gets row 0
  int64_t kv_head;  ///< whose keys and values
};

struct NewRows {
  int64_t rows = 0;
  const float *k = nullptr, *v = nullptr;  ///< [rows, KV heads, head_dim]
  int64_t k_stride = 0, v_stride = 0;      ///< floats between rows
  /// Keys are rotated where these are not null: [rows, rotary_dim / 2], from row 0's position on.
  const float *cosine = nullptr, *sine = nullptr;
  int rotary_dim = 0;
  /// Where this is not null, the queries [rows, query_heads, head_dim] rotate as the keys do.
  const float* q = nullptr;
  float* rotated_q = nullptr;
  int query_heads = 0;
};

/// Appends the rows to all lists, of which there is at least one. The lists lie in host memory:
/// they travel with the launches.
void append_rows(Stream stream, const KvForm& form, const NewRows& added,
                 std::span<const AppendList> lists);

/// Row `first + i` of the pages `to` gets row i of those chosen: rows[i] of the pages `from`, or
/// from_first + i where `rows` is null. `chosen` is how many; where it is null, `most`.
struct RowMove {
  PageTable to;
  int64_t first;
  PageTable from;
  int64_t from_first;
  const int32_t* rows;
  const int32_t* chosen;
  int64_t most;
};

/// Moves keys and values. A move within one list is right where each row moves towards the front
/// (rows ascending, rows[i] >= first + i) and `apart` is false; true says that no move writes what
/// any of them reads, which lets rows move in any order and so faster. The moves lie in host
/// memory: they travel with the launches.
void move_rows(Stream stream, const KvForm& form, std::span<const RowMove> moves, bool apart);

/// to[first + i] = from[rows[i]], ascending: numbers of 4 bytes that stand beside the rows. `from`
/// and `to` may be the same where rows[i] >= first + i: then those of the `listed` numbers that lie
/// behind what stays become zeros. Past the `listed` numbers of `from` stands the row's own, plus
/// `behind`.
struct ColumnMove {
  const uint32_t* from;
  int64_t listed, behind;
  uint32_t* to;
  int64_t first;
  const int32_t* rows;
  const int32_t* chosen;  ///< null: most
  int64_t most;
};
/// The moves lie in host memory.
void move_columns(Stream stream, std::span<const ColumnMove> moves);

/// Rows of a list to k and v [rows, head_dim] in f32: rows[i], or first + i where `rows` is null.
struct ReadList {
  PageTable pages;
  int64_t first;
  const int32_t* rows;
  float *k, *v;
};
void read_rows(Stream stream, const KvForm& form, const ReadList* lists, int count, int64_t rows);

}  // namespace longhaul::cuda
