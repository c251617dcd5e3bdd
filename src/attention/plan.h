#pragma once
// MethodPlan and ListPlan describe the rules of an attention method as data. MethodPlan holds the
// rules that are the same for all lists. ListPlan holds the rules that may differ between KV heads.
// A list holds the stored rows (keys and values) of one KV head in one layer. The driver
// (attention/driver.h) derives everything else from the plans: the passes of a prompt, the
// evictions, the visible rows of attention calls, memory forecasts and the contents of session
// files.

#include <cstdint>
#include <span>
#include <string_view>

namespace longhaul {

inline constexpr int64_t kNoBound = int64_t{1} << 60;  ///< larger than any number of tokens or rows

/// The times at which rows are evicted from lists. If the model itself has a sliding window in a
/// layer, kPromptEnd and kStride evict nothing from the lists of this layer.
enum class When : uint8_t {
  kNever,
  kPromptEnd,  ///< after the prefill of each prompt
  kStride,     ///< every `stride` tokens of a prompt
  /// After each pass and each generated token. Rows that are neither among the first Keep::sink nor
  /// among the last Keep::recent rows are removed, as soon as they fill whole pages.
  kEveryPass,
  /// Method::choose() evicts rows after the attention of every layer, in each pass and for each
  /// generated token.
  kOwn
};

/// The unit that selects which rows are kept.
enum class Chooser : uint8_t {
  kKvHead,
  /// Each query head, which then has a list of its own with a copy of the keys and values.
  kQueryHead,
  kLayer  ///< the whole layer: all KV heads keep the same tokens
};

/// The positions at which attention sees the keys, and the form in which keys are stored. Raw means
/// not rotated by RoPE.
enum class KeyPlace : uint8_t {
  kAbsolute,  ///< absolute positions in the context; keys are stored rotated
  kCache,     ///< index of the row in its list; keys are stored raw and rotated when they are read
  kOwn        ///< the method's attend() sets the positions; keys are stored raw
};

/// The rules that are the same for all layers, heads and context lengths.
struct MethodPlan {
  KeyPlace place = KeyPlace::kAbsolute;
  When when = When::kNever;
  Chooser chooser = Chooser::kKvHead;
  /// If true, Method::choose() removes rows from the store itself, and lists may differ in length.
  /// If false, choose() writes scores, and each list keeps the `budget` rows with the highest
  /// scores (Keep::budget).
  bool own_rule = false;
  int64_t stride = 0;  ///< number of prompt tokens between two evictions (When::kStride)
  /// Whether evictions by strides (When::kStride) shorten the lists to a target length instead of
  /// the budget. The target is at most budget + stride. Within this limit, it is the largest length
  /// for which the last stride ends exactly at the end of the prompt. EasyKV does this
  /// (arXiv:2402.06262). Generated tokens are not evicted before the next prompt.
  bool whole_strides = false;
  bool every_token = false;  ///< whether an eviction also follows each generated token
  /// Size of the observation window: the number of most recent query rows whose attention scores
  /// the stored keys before an eviction. With kNoBound, every query row contributes through
  /// Method::observe(). No part of such a prompt can be taken from a dense prefill
  /// (AttentionDriver::dense_prefix() is 0).
  int64_t observation_window = 0;
  /// If true, each list keeps the rows that received most attention from the query rows of the
  /// observation window, and Method::choose() is not called.
  bool keeps_received = false;
  /// Names of columns. A column is one extra f32 number that is stored with each row
  /// (KvStore::column), such as the attention that the row has received.
  std::span<const std::string_view> columns;
  /// Whether the context can be truncated to its first tokens and then continue with other tokens,
  /// as long as no row was evicted and no selection of keys depended on later rows.
  bool rewinds = false;
  /// Whether the method uses the instruction (the question at the end of a prompt) to select rows.
  /// The method then rejects a prompt without an instruction.
  bool reads_instruction = false;
  /// If true, in each layer the keys of all passes that are computed together are appended before
  /// attend() of the first pass. attend() of the first pass does the work that all these passes
  /// share (LayerStep::all). The store then contains later rows than a single pass may see, so
  /// KeyPlace::kOwn is required. Pass::discard must be false for all of these passes. observe() is
  /// called after attend() of each pass.
  bool begins_together = false;
  int streams = 1;  ///< number of KV stores used during prefill; store 0 belongs to the sequence
  /// Whether list plans depend on the length of the context. If false, the driver uses the list
  /// plans of the prompt for all generated tokens.
  bool by_length = false;

  bool observes_last_rows() const {
    return observation_window > 0 && observation_window < kNoBound;
  }
  /// Returns whether keys stay at their absolute positions, and no rows are evicted in layers where
  /// the model itself has a sliding window.
  bool stays_in_text() const {
    return place == KeyPlace::kAbsolute && when != When::kEveryPass && when != When::kOwn;
  }
};

/// The rule that determines which rows of a list an eviction keeps.
struct Keep {
  bool all = false;           ///< whether nothing is evicted from this list
  int64_t budget = kNoBound;  ///< number of rows after an eviction, including sink and recent
  int64_t sink = 0;           ///< number of first rows that are never evicted
  int64_t recent = 0;         ///< number of last rows that an eviction keeps regardless of scores
  /// Largest number of rows of a list in memory during prefill. This is set only if the method
  /// itself enforces the bound, by evicting (When::kOwn) or by offloading rows. With offloading,
  /// the new rows of the current pass are not included.
  int64_t in_memory = kNoBound;
  /// Used with When::kOwn. `at_rest` is the largest number of rows of a list while another layer is
  /// being computed, if a pass may have `rest_chunk` or more rows. While the list's own layer is
  /// being computed, the limit is `in_memory`. Only one layer is computed at a time.
  int64_t at_rest = kNoBound, rest_chunk = 0;

  bool operator==(const Keep&) const = default;
};

/// The stored rows that a query row sees.
struct See {
  int64_t sink = 0;  ///< number of first rows of the list, which all query rows see
  /// Number of last rows that a query row sees; kNoBound: all earlier rows.
  int64_t window = kNoBound;
  /// If true, the window of a query row consists of the last `window` rows up to the row itself. If
  /// false, it consists of the last `window` rows before the pass, and of all earlier rows of the
  /// pass.
  bool strict = false;
  /// If dense_rows is 0 or more, the window applies only to rows of the prompt, except its last
  /// `dense_rows` rows. These last rows and all generated tokens see all earlier rows.
  int64_t dense_rows = -1;
  /// Number of adjacent prompt rows that share one selection of keys; 0: no selection.
  int tile = 0;
  bool chosen = false;  ///< whether the selection of keys for a row may depend on later rows
  /// Largest distance between a query row and a key that this row sees; kNoBound if the method does
  /// not limit the distance (AttentionDriver::reach).
  int64_t reach = kNoBound;
  /// Factor of NTK-aware scaling of the RoPE frequencies (stretched_rope). 1 means no scaling.
  double stretch = 1;

  bool operator==(const See&) const = default;
};

/// The rules for the list of one KV head, for one length of the context.
struct ListPlan {
  Keep keep;
  See see;

  bool operator==(const ListPlan&) const = default;
};

}  // namespace longhaul
