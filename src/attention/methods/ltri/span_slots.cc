#include "attention/methods/ltri/span_slots.h"

#include "base/on_device.h"
#include "ops/core/fill.h"

namespace longhaul {
namespace {

/// Subtracts `row` from each row of `rows` [n, row.size()].
void subtract_row(Queue& queue, View<const float> row, View<float> rows) {
  if (on_device(kSubtractRow, queue, row, rows)) return;
  HostStage on(queue);
  const std::span<const float> less = host(on(row));
  const std::span<float> from = host(on(rows));
  for (size_t i = 0; i < from.size(); ++i) from[i] -= less[i % less.size()];
}

template <class T>
std::vector<T> downloaded(const View<const T>& view, Queue& queue) {
  std::vector<T> numbers(static_cast<size_t>(view.size()));
  if (!numbers.empty()) {
    queue.device().download(view.address(), numbers.data(), numbers.size() * sizeof(T));
  }
  return numbers;
}

}  // namespace

void SpanSlots::append(Queue& queue, const SpanTokens& tokens, View<float> vectors, DType type) {
  if (tokens.blocks() == 0) return;
  LH_ASSERT(record_ == 0 || (record_ == tokens.record() && slots_ == tokens.most()));
  record_ = tokens.record();
  slots_ = tokens.most();
  width_ = vectors.size() / (tokens.blocks() * slots_);
  if (type == DType::Q4_0) {
    if (common_.empty()) copy(queue, vectors.part(0, width_), common_.append_zeros(queue, width_));
    subtract_row(queue, common_.view(), vectors);
  }
  vectors_.append(queue, vectors, type);
  const View<const int32_t> records = tokens.numbers();
  const View<int32_t> to = records_.append_zeros(queue, records.size());
  queue.device().copy(records.address(), to.address(),
                      static_cast<size_t>(records.size()) * sizeof(int32_t));
  queue_ = queue;
}

SlottedSpans SpanSlots::view() const {
  return {blocks(),          width_,          records_.view(), record_,
          vectors_.stored(), vectors_.type(), slots_,          common_.view()};
}

SpanSlots::OnHost SpanSlots::on_host() const {
  Queue queue = queue_;
  return {downloaded(records_.view(), queue), downloaded(vectors_.stored(), queue),
          downloaded(common_.view(), queue)};
}

void SpanSlots::set(Queue& queue, const OnHost& from, int64_t record, int64_t slots, int64_t width,
                    DType type) {
  queue_ = queue;
  record_ = record;
  slots_ = slots;
  width_ = width;
  records_.assign(queue, from.records);
  vectors_.assign(queue, from.vectors, type);
  common_.assign(queue, from.common);
}

}  // namespace longhaul
