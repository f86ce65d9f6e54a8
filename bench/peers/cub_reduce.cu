// CUB's DeviceReduce on the input of `lanewise bench reduce`, verified before it is timed, and
// timed the same way (cub_timing.cuh). Prints the JSON that --peer reads.
//
//   nvcc -O3 -std=c++17 -arch=native cub_reduce.cu -o cub_reduce
//   ./cub_reduce [FROM:TO[:STEP]] >cub.json        sizes as powers of two, default 10:28:2
#include <limits>

#include "cub_timing.cuh"

namespace {

using peer::check;
using peer::hashed;

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

}  // namespace

int main(int argc, char** argv) {
    peer::program = "cub_reduce";
    const peer::Sizes sizes = peer::parse_sizes(argc, argv);
    const std::uint32_t* items = peer::make_hashed_items(std::uint64_t{1} << sizes.to);
    std::uint32_t* result = peer::make_items(1, "cudaMalloc of the result");
    cudaStream_t stream;
    check(cudaStreamCreate(&stream), "cudaStreamCreate");

    peer::Report report;
    for (const Op op : kOps) {
        std::uint32_t expected = identity(op);
        std::uint64_t expected_count = 0;
        for (int power = sizes.from; power <= sizes.to; power += sizes.step) {
            const std::uint64_t count = std::uint64_t{1} << power;
            for (; expected_count < count; ++expected_count) {
                expected =
                    combine(op, expected, hashed(static_cast<std::uint32_t>(expected_count)));
            }
            peer::Prepared call(
                [=](void* scratch, std::size_t& bytes) {
                    return reduce(op, scratch, bytes, items, result, count, stream);
                },
                stream);
            check(cudaMemset(result, 0xa5, sizeof *result), "cudaMemset");
            call.run_once();
            std::uint32_t got = 0;
            check(cudaMemcpy(&got, result, sizeof got, cudaMemcpyDeviceToHost), "cudaMemcpy");
            if (got != expected) {
                std::fprintf(stderr, "cub_reduce: %s of 2^%d: got %u, not %u\n", name_of(op), power,
                             got, expected);
                return 1;
            }
            char what[96];
            std::snprintf(what, sizeof what,
                          "\"primitive\": \"reduce\", \"op\": \"%s\", \"element\": \"u32\"",
                          name_of(op));
            report.add(what, count, call.time(power));
        }
    }
    return report.end();
}
