// libgpu_trace.so records what a program's GPU did and when, on machines without Nsight Systems.
//   CUDA_INJECTION64_PATH=$PWD/libgpu_trace.so LONGHAUL_TRACE=trace.tsv longhaul bench ...
// writes a line for each kernel, copy and memset. Its fields are device, start and end in ns, grid,
// block and name, separated by tabs. A copy or memset has its bytes instead of a grid and "-"
// instead of a block. summary.py reads the file.
// CUPTI 13, or else 12, is opened when CUDA starts. LONGHAUL_CUPTI names another libcupti.so.
// This code reads only the fields that lie at the same offset in all forms of a record since
// CUDA 9. Kernel records (form 4 in CUDA 9, 9 in CUDA 12, 10 in CUDA 13) are read up to `name`.
// Records of copies and memsets are read from `bytes` to `deviceId`.
#include <cupti.h>
#include <cxxabi.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <regex>
#include <string>
#include <vector>

// A function of the opened CUPTI. These functions are as old as CUPTI's activities.
#define CUPTI(function) reinterpret_cast<decltype(&(function))>(dlsym(trace.cupti, #function))

namespace {
constexpr size_t kBufferBytes = 8 << 20, kLongestName = 200;

/// The trace of one process. Each process that uses CUDA needs its own file.
struct Trace {
  // A second mutex keeps a launch that needs a buffer from waiting for file output.
  std::mutex mutex, free_mutex;
  void* cupti = nullptr;
  std::FILE* file = nullptr;
  pid_t owner = getpid();                    // a forked child must not end the trace
  std::vector<uint8_t*> free;                // buffers that CUPTI returned; their pages are mapped
  std::map<std::string, std::string> names;  // CUPTI's name -> written name
  size_t lost = 0;                           // activities that have no line in the file
};
Trace& trace = *new Trace;  // never destroyed, because CUPTI's thread may outlive main

/// The name without return type, namespaces and parameters, but with template arguments.
std::string shortened(const char* name) {
  static const auto& noise = *new std::regex(R"(\(anonymous namespace\)::|\w+::|^void | (?=>))");
  int status = 0, depth = 0;
  char* plain = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  const std::string all = std::regex_replace(status == 0 ? plain : name, noise, "");
  std::free(plain);
  size_t size = 0;
  for (; size < all.size() && (all[size] != '(' || depth > 0); ++size)
    depth += (all[size] == '<') - (all[size] == '>');
  return size <= kLongestName ? all.substr(0, size) : all.substr(0, kLongestName) + "...";
}

void add(const CUpti_Activity& record) {
  constexpr const char* kWays = "HtoDDtoHHtoAAtoHAtoAAtoDDtoADtoDHtoHPtoP";  // from copyKind 1 on
  const auto& kernel = reinterpret_cast<const CUpti_ActivityKernel5&>(record);
  const auto& copy = reinterpret_cast<const CUpti_ActivityMemcpy&>(record);  // copy or memset
  const unsigned long long start = copy.start, end = copy.end;  // a kernel's fields lie there, too
  // Not timed, or cut off by the end of the program.
  if (start == 0 || end < start) return void(++trace.lost);
  if (record.kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
    const char* mangled = kernel.name == nullptr ? "?" : kernel.name;
    std::string& name = trace.names[mangled];
    if (name.empty()) name = shortened(mangled);
    std::fprintf(trace.file, "%u\t%llu\t%llu\t%dx%dx%d\t%dx%dx%d\t%s\n", kernel.deviceId, start,
                 end, kernel.gridX, kernel.gridY, kernel.gridZ, kernel.blockX, kernel.blockY,
                 kernel.blockZ, name.c_str());
  } else if (const bool set = record.kind == CUPTI_ACTIVITY_KIND_MEMSET;
             set || record.kind == CUPTI_ACTIVITY_KIND_MEMCPY ||
             record.kind == CUPTI_ACTIVITY_KIND_MEMCPY2) {  // MEMCPY2: from GPU to GPU
    const bool known = !set && copy.copyKind > 0 && copy.copyKind <= 10;
    std::fprintf(trace.file, "%u\t%llu\t%llu\t%llu\t-\t%s%.4s\n", copy.deviceId, start, end,
                 static_cast<unsigned long long>(copy.bytes), set ? "memset" : "memcpy ",
                 known ? kWays + 4 * (copy.copyKind - 1) : "");
  }
}

void CUPTIAPI give_buffer(uint8_t** buffer, size_t* size, size_t* most_records) {
  const std::lock_guard lock(trace.free_mutex);
  *size = kBufferBytes;
  *most_records = 0;  // as many as fit
  if (trace.free.empty()) trace.free.push_back(static_cast<uint8_t*>(std::malloc(kBufferBytes)));
  *buffer = trace.free.back();
  trace.free.pop_back();
}

/// CUPTI's own thread calls this whenever a buffer is full. Launches do not wait for it, and the
/// kernels' names still exist. If the program is killed, the file lacks only the last buffers.
void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t* buffer, size_t,
                          size_t bytes) {
  const std::lock_guard lock(trace.mutex);
  const auto next = CUPTI(cuptiActivityGetNextRecord);
  CUpti_Activity* record = nullptr;
  while (bytes > 0 && next(buffer, bytes, &record) == CUPTI_SUCCESS) add(*record);
  size_t dropped = 0;
  CUPTI(cuptiActivityGetNumDroppedRecords)(context, stream, &dropped);
  trace.lost += dropped;
  std::fflush(trace.file);  // a forked child must not write buffered lines again
  const std::lock_guard free_lock(trace.free_mutex);
  trace.free.push_back(buffer);
}

void finish() {
  if (getpid() != trace.owner) return;
  CUPTI(cuptiActivityFlushAll)(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  const std::lock_guard lock(trace.mutex);
  if (std::ferror(trace.file)) std::fputs("gpu_trace: LONGHAUL_TRACE is not complete\n", stderr);
  if (trace.lost > 0) std::fprintf(stderr, "gpu_trace: %zu activities were lost\n", trace.lost);
}

/// Returns whether this CUPTI exists and works with the driver.
bool start(const std::string& path) {
  trace.cupti = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (trace.cupti == nullptr) return false;
  int error = CUPTI(cuptiActivityRegisterCallbacks)(give_buffer, take_buffer);
  for (const auto kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                          CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET})
    if (error == 0) error = CUPTI(cuptiActivityEnable)(kind);
  if (error != 0) std::fprintf(stderr, "gpu_trace: %s: CUPTI's error %d\n", path.c_str(), error);
  return error == 0;
}

/// Starts the first CUPTI that works: the loader's, a toolkit's, or one from Python's packages
/// (PyTorch).
bool start_any() {
  if (const char* own = std::getenv("LONGHAUL_CUPTI")) return start(own);
  if (start("libcupti.so.13") || start("libcupti.so.12")) return true;
  constexpr const char* kList = R"(
python='import nvidia; print(*[path + "/*/lib" for path in nvidia.__path__])'
for folder in /usr/local/cuda/extras/CUPTI/lib64 /usr/local/cuda/lib64 $(python3 -c "$python"); do
  ls $folder/libcupti.so.13 $folder/libcupti.so.12
done 2>/dev/null)";
  bool well = false;
  std::FILE* list = popen(kList, "r");
  for (char path[1024]; list && !well && std::fscanf(list, "%1023s", path) == 1;)
    well = start(path);
  if (list) pclose(list);
  return well;
}
}  // namespace

/// The driver calls this when CUDA starts. A result of 1 lets the program continue.
extern "C" int InitializeInjection() {
  const char* path = std::getenv("LONGHAUL_TRACE");
  if (path == nullptr) return 1;
  trace.file = std::fopen(path, "we");
  if (trace.file == nullptr) {
    std::perror("gpu_trace: LONGHAUL_TRACE");
  } else if (start_any()) {
    std::atexit(finish);
  } else {
    std::fputs("gpu_trace: no libcupti.so.13 or .12 that works with this driver\n", stderr);
  }
  return 1;
}
