// What the CUB peers share: the hashed input of `lanewise bench`, calls timed as it times uses
// (many between two events, in a CUDA graph so that host launches do not count; median of many
// after a warm-up by time), and the JSON that --peer reads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cub/cub.cuh>
#include <vector>

namespace peer {

inline const char* program = "";  // for messages; main sets it

inline void check(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s: %s\n", program, what, cudaGetErrorString(error));
    std::exit(1);
}

// bench/data.hpp has the same hash.
__host__ __device__ inline std::uint32_t hashed(std::uint32_t index) {
    std::uint32_t x = index * 2654435761u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return x;
}

static __global__ void fill_hashed(std::uint32_t* items, std::uint64_t count) {
    const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
         i += stride) {
        items[i] = hashed(static_cast<std::uint32_t>(i));
    }
}

// In device memory, for the whole run of the program.
inline std::uint32_t* make_items(std::uint64_t count, const char* what) {
    std::uint32_t* items = nullptr;
    check(cudaMalloc(&items, count * sizeof *items), what);
    return items;
}

inline std::uint32_t* make_hashed_items(std::uint64_t count) {
    std::uint32_t* items = make_items(count, "cudaMalloc of the input");
    fill_hashed<<<4096, 256>>>(items, count);
    check(cudaDeviceSynchronize(), "filling the input");
    return items;
}

// Powers of two.
struct Sizes {
    int from = 10, to = 28, step = 2;
};

// Ends the program where the arguments are no [FROM:TO[:STEP]].
inline Sizes parse_sizes(int argc, char** argv) {
    Sizes sizes;
    if (argc > 2 ||
        (argc == 2 && std::sscanf(argv[1], "%d:%d:%d", &sizes.from, &sizes.to, &sizes.step) < 2) ||
        sizes.from < 0 || sizes.to > 32 || sizes.from > sizes.to || sizes.step < 1) {
        std::fprintf(stderr, "usage: %s [FROM:TO[:STEP]], powers of two from 0 to 32\n", program);
        std::exit(2);
    }
    return sizes;
}

struct Timing {
    double median_ns = 0.0;  // of one call
    double best_ns = 0.0;
    int uses = 0;  // calls in a graph
};

inline Timing time_graph(cudaGraphExec_t graph, int uses, cudaStream_t stream) {
    constexpr int kSubmits = 21;
    constexpr double kWarmUpMs = 200.0;
    cudaEvent_t start, stop;
    check(cudaEventCreate(&start), "cudaEventCreate");
    check(cudaEventCreate(&stop), "cudaEventCreate");
    auto submit = [&] {
        float milliseconds = 0.0f;
        check(cudaEventRecord(start, stream), "cudaEventRecord");
        check(cudaGraphLaunch(graph, stream), "cudaGraphLaunch");
        check(cudaEventRecord(stop, stream), "cudaEventRecord");
        check(cudaEventSynchronize(stop), "cudaEventSynchronize");
        check(cudaEventElapsedTime(&milliseconds, start, stop), "cudaEventElapsedTime");
        return static_cast<double>(milliseconds);
    };
    for (double spent = 0.0; spent < kWarmUpMs;) spent += submit();
    std::vector<double> times;
    for (int i = 0; i < kSubmits; ++i) times.push_back(submit() * 1e6 / uses);
    std::sort(times.begin(), times.end());
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    return {times[times.size() / 2], times.front(), uses};
}

// A CUB call and its scratch memory. `call` is cudaError_t(void* scratch, std::size_t& bytes); it
// uses `stream`.
template <class Call>
class Prepared {
public:
    Prepared(Call call, cudaStream_t stream) : call_(call), stream_(stream) {
        check(call_(nullptr, bytes_), "the size query");
        check(cudaMalloc(&scratch_, bytes_), "cudaMalloc of the scratch");
    }
    ~Prepared() { cudaFree(scratch_); }
    Prepared(const Prepared&) = delete;
    Prepared& operator=(const Prepared&) = delete;

    void run_once() {
        check(call_(scratch_, bytes_), "the call");
        check(cudaStreamSynchronize(stream_), "the call");
    }

    // For 2^power items.
    Timing time(int power) {
        // As bench/harness.cpp.
        const int uses = power <= 22 ? 100 : power <= 26 ? 20 : 3;
        cudaGraph_t graph;
        cudaGraphExec_t executable;
        check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), "capture");
        for (int use = 0; use < uses; ++use) check(call_(scratch_, bytes_), "the call");
        check(cudaStreamEndCapture(stream_, &graph), "capture");
        check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
        const Timing timing = time_graph(executable, uses, stream_);
        cudaGraphExecDestroy(executable);
        cudaGraphDestroy(graph);
        return timing;
    }

private:
    Call call_;
    cudaStream_t stream_;
    void* scratch_ = nullptr;
    std::size_t bytes_ = 0;
};

// What --peer reads, to standard output.
class Report {
public:
    Report() {
        cudaDeviceProp properties;
        check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
        int driver = 0;
        cudaDriverGetVersion(&driver);
        std::printf("{\n  \"peer\": \"CUB %d.%d.%d\",\n  \"device\": \"%s\",\n", CUB_MAJOR_VERSION,
                    CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION, properties.name);
        std::printf(
            "  \"toolkit\": \"CUDA %d.%d\",\n  \"driver_api\": \"CUDA %d.%d\",\n  \"rows\": [",
            CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10, driver / 1000, driver % 1000 / 10);
    }

    // `what`: the fields that name the row, as JSON.
    void add(const char* what, std::uint64_t count, const Timing& timing) {
        std::printf("%s\n    {%s, ", first_ ? "" : ",", what);
        std::printf("\"count\": %llu, \"nanoseconds\": %.1f, \"best_nanoseconds\": %.1f, ",
                    static_cast<unsigned long long>(count), timing.median_ns, timing.best_ns);
        std::printf("\"uses\": %d, \"verified\": true}", timing.uses);
        std::fflush(stdout);
        first_ = false;
    }

    // The exit status.
    int end() {
        std::printf("\n  ]\n}\n");
        return std::fflush(stdout) == 0 ? 0 : 1;
    }

private:
    bool first_ = true;
};

}  // namespace peer
