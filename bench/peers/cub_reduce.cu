// CUB's DeviceReduce on the same hashed input as `lanewise bench reduce`, timed the same way: many
// calls between two events, in a CUDA graph so that host launches do not count; verified before it
// is timed; median of many after a warm-up by time. Prints the JSON that --peer reads.
//
//   nvcc -O3 -std=c++17 -arch=native cub_reduce.cu -o cub_reduce
//   ./cub_reduce [FROM:TO[:STEP]] >cub.json        sizes as powers of two, default 10:28:2
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cub/cub.cuh>
#include <limits>
#include <vector>

namespace {

void check(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "cub_reduce: %s: %s\n", what, cudaGetErrorString(error));
    std::exit(1);
}

// bench/data.cpp has the same hash.
__host__ __device__ std::uint32_t hashed(std::uint32_t index) {
    std::uint32_t x = index * 2654435761u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return x;
}

__global__ void fill(std::uint32_t* items, std::uint64_t count) {
    const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
         i += stride) {
        items[i] = hashed(static_cast<std::uint32_t>(i));
    }
}

enum class Op { sum, min, max };
constexpr Op kOps[] = {Op::sum, Op::min, Op::max};

const char* name_of(Op op) {
    switch (op) {
        case Op::sum: return "sum";
        case Op::min: return "min";
        case Op::max: break;
    }
    return "max";
}

std::uint32_t identity(Op op) {
    return op == Op::min ? std::numeric_limits<std::uint32_t>::max() : 0u;
}

std::uint32_t combine(Op op, std::uint32_t a, std::uint32_t b) {
    switch (op) {
        case Op::sum: return a + b;
        case Op::min: return std::min(a, b);
        case Op::max: break;
    }
    return std::max(a, b);
}

cudaError_t reduce(Op op, void* scratch, std::size_t& bytes, const std::uint32_t* items,
                   std::uint32_t* result, std::uint64_t count, cudaStream_t stream) {
    switch (op) {
        case Op::sum: return cub::DeviceReduce::Sum(scratch, bytes, items, result, count, stream);
        case Op::min: return cub::DeviceReduce::Min(scratch, bytes, items, result, count, stream);
        case Op::max: break;
    }
    return cub::DeviceReduce::Max(scratch, bytes, items, result, count, stream);
}

struct Timing {
    double median_ns = 0.0;
    double best_ns = 0.0;
};

// Of one call, out of `uses` in a graph.
Timing time_graph(cudaGraphExec_t graph, int uses, cudaStream_t stream) {
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
    return {times[times.size() / 2], times.front()};
}

}  // namespace

int main(int argc, char** argv) {
    int from = 10, to = 28, step = 2;
    if (argc > 2 || (argc == 2 && std::sscanf(argv[1], "%d:%d:%d", &from, &to, &step) < 2) ||
        from < 0 || to > 32 || from > to || step < 1) {
        std::fprintf(stderr, "usage: cub_reduce [FROM:TO[:STEP]], powers of two from 0 to 32\n");
        return 2;
    }
    const std::uint64_t most = std::uint64_t{1} << to;
    std::uint32_t *items = nullptr, *result = nullptr;
    check(cudaMalloc(&items, most * sizeof *items), "cudaMalloc of the input");
    check(cudaMalloc(&result, sizeof *result), "cudaMalloc of the result");
    fill<<<4096, 256>>>(items, most);
    check(cudaDeviceSynchronize(), "filling the input");

    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    int driver = 0;
    cudaDriverGetVersion(&driver);
    std::printf("{\n  \"peer\": \"CUB %d.%d.%d\",\n  \"device\": \"%s\",\n", CUB_MAJOR_VERSION,
                CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION, properties.name);
    std::printf("  \"toolkit\": \"CUDA %d.%d\",\n  \"driver_api\": \"CUDA %d.%d\",\n  \"rows\": [",
                CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10, driver / 1000,
                driver % 1000 / 10);

    cudaStream_t stream;
    check(cudaStreamCreate(&stream), "cudaStreamCreate");
    bool first = true;
    for (const Op op : kOps) {
        std::uint32_t expected = identity(op);
        std::uint64_t expected_count = 0;
        for (int power = from; power <= to; power += step) {
            const std::uint64_t count = std::uint64_t{1} << power;
            for (; expected_count < count; ++expected_count) {
                expected =
                    combine(op, expected, hashed(static_cast<std::uint32_t>(expected_count)));
            }
            std::size_t bytes = 0;
            check(reduce(op, nullptr, bytes, items, result, count, stream), "the size query");
            void* scratch = nullptr;
            check(cudaMalloc(&scratch, bytes), "cudaMalloc of the scratch");
            check(cudaMemset(result, 0xa5, sizeof *result), "cudaMemset");
            check(reduce(op, scratch, bytes, items, result, count, stream), "DeviceReduce");
            check(cudaStreamSynchronize(stream), "DeviceReduce");
            std::uint32_t got = 0;
            check(cudaMemcpy(&got, result, sizeof got, cudaMemcpyDeviceToHost), "cudaMemcpy");
            if (got != expected) {
                std::fprintf(stderr, "cub_reduce: %s of 2^%d: got %u, not %u\n", name_of(op), power,
                             got, expected);
                return 1;
            }

            // As bench/harness.cpp.
            const int uses = power <= 22 ? 100 : power <= 26 ? 20 : 3;
            cudaGraph_t graph;
            cudaGraphExec_t executable;
            check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
            for (int use = 0; use < uses; ++use) {
                check(reduce(op, scratch, bytes, items, result, count, stream), "DeviceReduce");
            }
            check(cudaStreamEndCapture(stream, &graph), "capture");
            check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
            const Timing timing = time_graph(executable, uses, stream);
            std::printf(
                "%s\n    {\"primitive\": \"reduce\", \"op\": \"%s\", \"element\": \"u32\", ",
                first ? "" : ",", name_of(op));
            std::printf("\"count\": %llu, \"nanoseconds\": %.1f, \"best_nanoseconds\": %.1f, ",
                        static_cast<unsigned long long>(count), timing.median_ns, timing.best_ns);
            std::printf("\"uses\": %d, \"verified\": true}", uses);
            std::fflush(stdout);
            first = false;
            cudaGraphExecDestroy(executable);
            cudaGraphDestroy(graph);
            cudaFree(scratch);
        }
    }
    std::printf("\n  ]\n}\n");
    return std::fflush(stdout) == 0 ? 0 : 1;
}
