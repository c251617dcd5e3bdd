#include <algorithm>
#include <mutex>

#include "base/assert.h"
#include "grammar/automaton.h"
#include "grammar/grammar.h"
#include "grammar/token_masks.h"

namespace longhaul::grammar {
namespace {

/// Tables beyond it are replaced by new ones. They are a cache.
constexpr size_t kMostTableBytes = size_t{5} << 19;  // 2.5 MiB
constexpr size_t kBytesOfStep = 16;

}  // namespace

struct TableSet {
  TableSet(const std::shared_ptr<const Automaton>& automaton, const TokenTrie& vocabulary)
      : states(automaton), masks(vocabulary) {}
  size_t memory_bytes() const { return states.memory_bytes() + masks.memory_bytes(); }

  StateTables states;
  TokenMasks masks;
};

class SharedTables {
 public:
  SharedTables(std::shared_ptr<const Automaton> the_automaton,
               std::shared_ptr<const TokenTrie> the_vocabulary)
      : automaton(std::move(the_automaton)), vocabulary(std::move(the_vocabulary)) {
    renew();
  }
  void renew() { current = std::make_shared<TableSet>(automaton, *vocabulary); }

  const std::shared_ptr<const Automaton> automaton;
  const std::shared_ptr<const TokenTrie> vocabulary;
  std::mutex mutex;
  std::shared_ptr<TableSet> current;
};

GrammarState::GrammarState(const Grammar& grammar, std::shared_ptr<const TokenTrie> vocabulary)
    : shared_(std::make_shared<SharedTables>(grammar.automaton(), std::move(vocabulary))),
      tables_(shared_->current) {
  StateTables& tables = tables_->states;
  state_ = tables.resume(grammar.automaton()->start());
  const StateTables::Parted& parted = tables.part(state_);
  stack_ = parted.common;
  state_ = parted.state;
}

void GrammarState::use_current_tables() {
  if (tables_ == shared_->current && tables_->memory_bytes() > kMostTableBytes) shared_->renew();
  if (tables_ == shared_->current) return;
  const auto items = tables_->states.items(state_);
  const bool pops = tables_->states.pops(state_);
  tables_ = shared_->current;
  state_ = tables_->states.state_of(items, pops);
}

void GrammarState::allowed(std::span<uint64_t> mask) {
  const TokenTrie& vocabulary = *shared_->vocabulary;
  LH_ASSERT(mask.size() == vocabulary.mask_words());
  if (ended_) return std::fill(mask.begin(), mask.end(), 0);
  const std::scoped_lock lock(shared_->mutex);
  use_current_tables();
  tables_->masks.write(tables_->states, {state_, stack_.size()}, stack_, mask);
  if (!tables_->states.pops(state_) || !stack_.empty()) return;
  for (const int32_t token : vocabulary.ending_tokens()) {
    mask[static_cast<size_t>(token) / 64] |= uint64_t{1} << (static_cast<size_t>(token) % 64);
  }
}

bool GrammarState::accept(int32_t token) {
  if (ended_) return false;
  if (shared_->vocabulary->ends(token)) {
    ended_ = may_end();
    return ended_;
  }
  const std::string_view text = shared_->vocabulary->text(token);
  return !text.empty() && accept_bytes(text);
}

bool GrammarState::accept_bytes(std::string_view bytes) {
  if (ended_) return false;
  const std::scoped_lock lock(shared_->mutex);
  if (bytes.size() <= kBytesOfStep) {
    use_current_tables();
    return step(bytes);
  }
  // Between the steps of a long text, open calls are moved to the stack.
  GrammarState after = *this;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(kBytesOfStep, bytes.size()))) {
    after.use_current_tables();
    if (!after.step(bytes.substr(0, kBytesOfStep))) return false;
  }
  *this = std::move(after);
  return true;
}

bool GrammarState::step(std::string_view bytes) {
  StateTables& tables = tables_->states;
  Place place{state_, stack_.size()};
  for (const char c : bytes) {
    place.state = tables.next(place.state, static_cast<uint8_t>(c));
    if (place.state == StateTables::kDead) return false;
    place = resolved(tables, place, stack_);
  }
  const StateTables::Parted& parted = tables.part(place.state);
  stack_.resize(place.depth);
  stack_.insert(stack_.end(), parted.common.begin(), parted.common.end());
  state_ = parted.state;
  return true;
}

bool GrammarState::may_end() const {
  const std::scoped_lock lock(shared_->mutex);
  return stack_.empty() && tables_->states.pops(state_);
}

bool GrammarState::must_end() const {
  const std::scoped_lock lock(shared_->mutex);
  return stack_.empty() && tables_->states.pops(state_) && tables_->states.items(state_).empty();
}

size_t GrammarState::shared_memory_bytes() const {
  const std::scoped_lock lock(shared_->mutex);
  return shared_->automaton->memory_bytes() + shared_->current->memory_bytes();
}

}  // namespace longhaul::grammar
