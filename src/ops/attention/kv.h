#pragma once
// Operations on keys and values in device pages. A page has the layout of kv/kv_layout.h: page_rows
// keys, then as many values. Numbers are rounded as in ops/attention/stored_key.h. A list is the
// stored rows (keys and values) of one KV head in one layer. It is described by a device array of
// page addresses (PageTable).

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/attention/attention.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// The format of all pages in a call.
struct KvForm {
  KvType type;  ///< element types, which must support head_dim (KvType::holds)
  int head_dim = 0;
  int page_rows = 64;
  bool values_in_keys = false;  ///< whether pages hold no values (PagedRows::values_in_keys)
};
inline KvForm form_of(const PagedRows& rows) {
  return {rows.type, rows.head_dim, rows.page_rows, rows.values_in_keys};
}

using PageTable = std::byte* const*;
inline PageTable table_of(const PagedRows& rows) {
  LH_ASSERT(rows.listed != nullptr);
  return const_cast<PageTable>(rows.listed);
}

/// A list to which new stored rows are appended.
struct AppendList {
  PageTable pages;
  int64_t first;       ///< number that the first new row gets in the list
  int32_t kv_head;     ///< KV head whose keys and values are appended
  int32_t source = 0;  ///< index of the sequence (NewRows) whose rows are appended
};

struct NewRows {
  int64_t rows = 0;
  const float *k = nullptr, *v = nullptr;  ///< [rows, KV heads, head_dim]
  int64_t k_stride = 0, v_stride = 0;      ///< floats between the beginnings of two rows
  /// Rotation tables [rows, rotary_dim / 2], which begin at the position of row 0. If they are
  /// null, keys are stored without RoPE.
  const float *cosine = nullptr, *sine = nullptr;
  int rotary_dim = 0;
  /// Queries [rows, query_heads, head_dim], which are rotated like the keys and written to
  /// rotated_q. Null if there are no queries to rotate.
  const float* q = nullptr;
  float* rotated_q = nullptr;
  int query_heads = 0;
  bool raw_keys = false;  ///< whether only queries are rotated
};

/// Appends the rows of one or several sequences to their lists. Each sequence has at least one
/// list, and `lists` are in the order of their sequences (AppendList::source). Both spans are in
/// host memory and are passed as kernel arguments. One launch processes up to 64 sequences.
void append_rows(Stream stream, const KvForm& form, std::span<const NewRows> sources,
                 std::span<const AppendList> lists);
inline void append_rows(Stream stream, const KvForm& form, const NewRows& added,
                        std::span<const AppendList> lists) {
  append_rows(stream, form, {&added, 1}, lists);
}

/// A copy of stored rows from one list to another or to the same list. Stored row rows[i] of `from`
/// is copied to row first + i of `to`. If `rows` is null, row from_first + i is copied. The number
/// of copied rows is *chosen, or `most` if `chosen` is null.
struct RowMove {
  PageTable to;
  int64_t first;
  PageTable from;
  int64_t from_first;
  const int32_t* rows;
  const int32_t* chosen;
  int64_t most;
};

/// Copies keys and values of rows. If `apart` is true, no row that any move writes may be read by
/// any move. Rows are then copied in any order, which is faster. If `apart` is false, moves within
/// one list are allowed, but must move each row towards the front (rows ascending,
/// rows[i] >= first + i). The moves are in host memory and are passed as kernel arguments.
void move_rows(Stream stream, const KvForm& form, std::span<const RowMove> moves, bool apart);

/// A copy of 4-byte metadata of rows: to[first + i] = from[rows[i]], with i ascending. `from` has
/// `listed` entries. Entries beyond these are not stored: entry r has the value r + `behind`.
/// `from` and `to` may be equal if rows[i] >= first + i. In that case, the entries after the last
/// copied one become zeros, up to entry `listed`.
struct ColumnMove {
  const uint32_t* from;
  int64_t listed, behind;
  uint32_t* to;
  int64_t first;
  const int32_t* rows;
  const int32_t* chosen;  ///< number of entries to copy, in device memory; null: `most`
  int64_t most;
};
/// Queues the moves. They are in host memory and are passed as kernel arguments.
void move_columns(Stream stream, std::span<const ColumnMove> moves);

/// A list whose rows are read as f32 to k and v [rows, head_dim]. Result row i is stored row
/// rows[i] of the list, or row first + i if `rows` is null.
struct ReadList {
  PageTable pages;
  int64_t first;
  const int32_t* rows;
  float *k, *v;
};
void read_rows(Stream stream, const KvForm& form, const ReadList* lists, int count, int64_t rows);

}  // namespace longhaul::cuda
