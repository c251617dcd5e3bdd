// State outside the stores, and the checks that compare the two.

#include "attention/driver.h"
#include "base/error.h"
#include "base/nth.h"
#include "kv/list_checks.h"

namespace longhaul {

void AttentionDriver::save(ByteWriter& out) const {
  Archive archive(out);
  const_cast<AttentionDriver*>(this)->archive(archive);  // only reads this object
}

void AttentionDriver::restore(ByteReader& in) {
  Archive archive(in);
  this->archive(archive);
}

void AttentionDriver::archive(Archive& archive) {
  const Plan& how = first();
  const Keep& keep = how.keep;
  const bool cut_once = keep.when == When::kPromptEnd && !keep.every_token;
  if (keep.whole_strides) {
    archive.number(held_);
  } else if (cut_once || (how.rewinds && (forgets() || how.see.chosen))) {
    archive.flag(changed_);
  }
  method_->archive(archive);
}

void AttentionDriver::check_restored(const KvStore& store, int64_t tokens) const {
  for (int layer = 0; layer < shape_.layers; ++layer) check_layer(store, layer, tokens);
  const Keep& keep = first().keep;
  for (int layer = 0; layer < shape_.layers && keep.whole_strides; ++layer) {
    if (cuts(layer)) expect_length(store, layer, 0, held_);
  }
  method_->check(store, tokens);
}

void AttentionDriver::check_layer(const KvStore& store, int layer, int64_t tokens) const {
  const Keep& keep = plan(layer, 0).keep;
  const int lists = store.lists(layer);
  if (keep.when == When::kOwn || keep.in_memory < kNoBound) return;  // Method::check
  if (cuts(layer) && (keep.budget == kNoBound || (keep.sure_share >= 0 && changed_))) {
    return expect_in_memory(store, layer, 0, tokens);  // each list has its own length
  }
  if (cuts(layer) && (changed_ || keep.whole_strides)) {
    return expect_equal_lists(store, layer);
  }
  for (int list = 0; list < lists; ++list) {
    if (plan(layer, list).keep.when != When::kEveryPass) expect_length(store, layer, list, tokens);
  }
  expect_in_memory(store, layer, 0, tokens);
  const bool streams = keep.when == When::kEveryPass;
  for (int list = 1; list < lists && streams; ++list) {
    if (plan(layer, list).keep.when == When::kEveryPass) {
      expect_length(store, layer, list, store.length(layer, 0));
    }
  }
}

}  // namespace longhaul
