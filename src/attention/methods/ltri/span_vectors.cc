#include "attention/methods/ltri/span_vectors.h"

#include "base/on_device.h"
#include "ops/attention/stored_key.h"
#include "ops/core/fill.h"
#include "ops/core/host_copies.h"

namespace longhaul {
namespace {

/// Buffers of the selection.
struct SpanChoice {
  std::vector<float> votes;
  RowSelection of_span;
};

/// Selects the spans and tokens of a block and writes its record (SpanTokens). memory.votes holds
/// the votes of its tokens.
void choose(const BlockMap& map, const SpanTokenRule& rule, SpanChoice& memory,
            std::span<int32_t> record) {
  const View<const float> votes(memory.votes);
  const auto ends = record.subspan(1, static_cast<size_t>(rule.spans));
  const auto tokens = record.subspan(1 + ends.size());
  std::fill(tokens.begin(), tokens.end(), 0);
  size_t spans = 0, count = 0;
  for (const BlockSpan& span :
       divide_into_spans(map, {map_quantile(map, rule.theta), rule.phi, rule.spans})) {
    const float ratio = span_ratio(map, span, rule.neighbours);
    const RowList chosen =
        select_rows(host_queue(), votes.part(span.begin, span.length()),
                    RowsToKeep{.count = index_count(span.length(), ratio, rule.lambda, rule.most)},
                    memory.of_span);
    for (const int32_t token : host_rows(chosen)) tokens[count++] = span.begin + token;
    ends[spans++] = static_cast<int32_t>(count);
  }
  record[0] = static_cast<int32_t>(spans);
  std::fill(ends.begin() + static_cast<std::ptrdiff_t>(spans), ends.end(),
            static_cast<int32_t>(count));
}

/// Sets votes [n] to the sum of all heads' votes, or to the column sums of the map if `of_heads` is
/// empty.
void add_votes(const BlockMap& map, std::span<const float> of_heads, std::vector<float>& votes) {
  const auto n = static_cast<size_t>(map.n);
  votes.assign(n, 0.0f);
  const size_t heads = of_heads.size() / n;
  for (size_t i = 0; i < of_heads.size(); ++i) votes[i / heads] += of_heads[i];
  for (int i = 0; of_heads.empty() && i < map.n; ++i) {
    for (int j = 0; j <= i; ++j) votes[static_cast<size_t>(j)] += map.at(i, j);
  }
}

/// Writes the query vector of a row.
void write_query(const SpanQueries& queries, int64_t row, std::span<float> to) {
  const int dim = queries.head_dim, group = queries.heads / queries.kv_heads;
  const float* const q = host(queries.q).data() + row * queries.heads * dim;
  if (queries.head >= 0) return void(std::copy_n(q + queries.head * dim, dim, to.data()));
  std::fill(to.begin(), to.end(), 0.0f);
  for (int h = 0; h < queries.heads; ++h) {
    float* const of_list = to.data() + h / group * dim;
    for (int t = 0; t < dim; ++t) of_list[t] += q[h * dim + t];
  }
}

/// Appends query vectors to an array.
class QueryWriter {
 public:
  QueryWriter(const SpanQueries& queries, View<float> to)
      : queries_(queries), to_(host(to)), width_(static_cast<size_t>(queries.width())) {}

  int32_t count() const { return static_cast<int32_t>(at_ / width_); }
  void write(int64_t row) {
    write_query(queries_, row, to_.subspan(at_, width_));
    at_ += width_;
  }
  /// Replaces the query vectors from `first` on by their sum. They are added in order.
  void sum_from(int32_t first) {
    const size_t begin = static_cast<size_t>(first) * width_;
    for (size_t at = begin + width_; at < at_; ++at) {
      to_[begin + (at - begin) % width_] += to_[at];
    }
    at_ = begin + width_;
  }

 private:
  const SpanQueries& queries_;
  std::span<float> to_;
  size_t width_, at_ = 0;
};

}  // namespace

VectorList VectorList::on_host(Queue& queue) const {
  HostStage on(queue);
  VectorList here;
  here.resize(host_queue(), most(), width_);
  copy(host_queue(), on(numbers()), here.numbers());
  host(here.counted())[0] = host(on(counted()))[0];
  return here;
}

SpanTokens::Block SpanTokens::block_of(std::span<const int32_t> record, int64_t spans) {
  const auto count = static_cast<size_t>(record[0]);
  const auto ends = record.subspan(1, count);
  const auto tokens = record.subspan(1 + static_cast<size_t>(spans));
  return {ends, tokens.first(ends.empty() ? 0 : static_cast<size_t>(ends.back()))};
}

namespace {

void choose_here(const DividedTokens& blocks, const SpanTokenRule& rule, int64_t record,
                 View<int32_t> tokens) {
  const std::span<const float> maps = host(blocks.maps), votes = host(blocks.votes);
  const auto heads = static_cast<size_t>(std::ssize(votes) / blocks.tokens);
  thread_local SpanChoice memory;
  for (int64_t b = 0; b < blocks.blocks(); ++b) {
    const auto first = static_cast<size_t>(b * blocks.block);
    const BlockMap map{maps.data() + first * static_cast<size_t>(blocks.block), blocks.length(b),
                       blocks.block};
    add_votes(map, votes.subspan(first * heads, static_cast<size_t>(map.n) * heads), memory.votes);
    choose(map, rule, memory, host(tokens.part(b * record, record)));
  }
}

}  // namespace

void choose_span_tokens(Queue& queue, const DividedTokens& blocks, const SpanTokenRule& rule,
                        SpanTokens& tokens) {
  LH_ASSERT(blocks.block > 0 && blocks.maps.size() == blocks.tokens * blocks.block);
  LH_ASSERT(blocks.votes.empty() || blocks.votes.size() % blocks.tokens == 0);
  tokens.resize(queue, blocks.blocks(), rule.spans, rule.most);
  if (on_device(kChooseSpanTokens, queue, blocks, rule, tokens.numbers())) return;
  if (!queue.on_host()) {
    HostStage on(queue);
    DividedTokens here = blocks;
    here.maps = on(blocks.maps);
    here.votes = on(blocks.votes);
    return choose_here(here, rule, tokens.record(), on(tokens.numbers()));
  }
  choose_here(blocks, rule, tokens.record(), tokens.numbers());
}

namespace {

void gather_here(std::span<const PagedRows> lists, int64_t first, int block, int64_t spans,
                 int64_t record, View<const int32_t> tokens, View<float> keys) {
  const std::span<float> to = host(keys);
  std::fill(to.begin(), to.end(), 0.0f);
  const int64_t blocks = tokens.size() / record, dim = lists.front().head_dim;
  const int64_t each = blocks == 0 ? 0 : keys.size() / blocks;
  for (int64_t b = 0; b < blocks; ++b) {
    float* key = to.data() + b * each;
    for (const int32_t token :
         SpanTokens::block_of(host(tokens.part(b * record, record)), spans).tokens) {
      for (const PagedRows& list : lists) {
        read_key(list, first + b * block + token, key);
        key += dim;
      }
    }
  }
}

}  // namespace

View<float> gather_span_keys(Queue& queue, std::span<const PagedRows> lists, int64_t first,
                             int block, const SpanTokens& tokens, Array<float>& memory) {
  LH_ASSERT(!lists.empty());
  const int64_t width = std::ssize(lists) * lists.front().head_dim;
  const View<float> keys = memory.resize(queue, tokens.blocks() * tokens.most() * width);
  if (on_device(kGatherSpanKeys, queue, lists, first, block, tokens, keys)) return keys;
  if (!queue.on_host()) {
    HostCopies on(queue);
    std::vector<PagedRows> here;
    for (const PagedRows& list : lists) {
      here.push_back(on(list, first, first + tokens.blocks() * block));
    }
    gather_here(here, first, block, tokens.spans(), tokens.record(), on(tokens.numbers()),
                on(keys));
    return keys;
  }
  gather_here(lists, first, block, tokens.spans(), tokens.record(), tokens.numbers(), keys);
  return keys;
}

namespace {

void write_span_queries(const SpanQueries& queries, int block, const SpanTokens& tokens,
                        View<const int32_t> records, View<float> to, View<int32_t> count) {
  QueryWriter writer(queries, to);
  for (int64_t b = 0; b * tokens.record() < records.size(); ++b) {
    const SpanTokens::Block of = SpanTokens::block_of(
        host(records.part(b * tokens.record(), tokens.record())), tokens.spans());
    size_t at = 0;
    for (const int32_t end : of.ends) {
      const int32_t begin = writer.count();
      for (; at < static_cast<size_t>(end); ++at) writer.write(b * block + of.tokens[at]);
      if (queries.sum_of_span) writer.sum_from(begin);
    }
  }
  host(count)[0] = writer.count();
}

}  // namespace

void set_span_queries(Queue& queue, const SpanQueries& queries, int block, const SpanTokens& tokens,
                      const SomeBlocks& blocks, VectorList& to) {
  to.resize(queue, blocks.count * tokens.most(), queries.width());
  if (on_device(kSpanQueries, queue, queries, block, tokens, blocks, to)) return;
  if (!queue.on_host()) {
    HostStage on(queue);
    SpanQueries here = queries;
    here.q = on(queries.q);
    return write_span_queries(here, block, tokens, on(tokens.records(blocks)), on(to.numbers()),
                              on(to.counted()));
  }
  write_span_queries(queries, block, tokens, tokens.records(blocks), to.numbers(), to.counted());
}

void set_row_queries(Queue& queue, const SpanQueries& queries, int64_t begin, int64_t end,
                     VectorList& to) {
  to.resize(queue, end - begin, queries.width());
  if (on_device(kRowQueries, queue, queries, begin, end, to)) return;
  if (!queue.on_host()) {
    HostStage on(queue);
    SpanQueries here = queries;
    here.q = on(queries.q);
    VectorList list;
    set_row_queries(host_queue(), here, begin, end, list);
    copy(queue, list.numbers(), to.numbers());
    const auto count = static_cast<int32_t>(end - begin);
    return queue.device().upload(&count, to.counted().address(), sizeof count);
  }
  QueryWriter writer(queries, to.numbers());
  for (int64_t row = begin; row < end; ++row) writer.write(row);
  host(to.counted())[0] = writer.count();
}

}  // namespace longhaul
