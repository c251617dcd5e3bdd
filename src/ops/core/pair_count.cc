#include "ops/core/pair_count.h"

#include "base/host_stage.h"

namespace longhaul {

View<int64_t> device_count(Queue& queue, Array<int64_t>& memory) {
  if (queue.on_host()) return {};
  if (memory.size() == 0) {
    const View<int64_t> none = memory.resize(queue, 1);
    queue.device().clear(none.address(), sizeof(int64_t));
  }
  return memory.view();
}

void copy_count(Queue& queue, const Array<int64_t>& from, Array<int64_t>& to) {
  if (from.size() == 0) {
    to = {};
    return;
  }
  queue.device().copy(from.view().address(), to.resize(queue, 1).address(), sizeof(int64_t));
}

int64_t read_count(Queue& queue, const Array<int64_t>& memory) {
  if (memory.size() == 0) return 0;
  HostStage on(queue);
  return host(on(memory.view()))[0];
}

}  // namespace longhaul
