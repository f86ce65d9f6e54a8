// CUB's DeviceSelect::If on the input of `lanewise bench select`, verified before it is timed, and
// timed the same way (cub_timing.cuh). Prints the JSON that --peer reads.
//
//   nvcc -O3 -std=c++17 -arch=native cub_select.cu -o cub_select
//   ./cub_select [FROM:TO[:STEP]] >cub.json          sizes as powers of two, default 10:28:2
#include "cub_timing.cuh"

namespace {

using peer::check;
using peer::hashed;

struct IsUpperHalf {
    __host__ __device__ bool operator()(std::uint32_t item) const { return item >= 0x80000000u; }
};

// Everything that is kept, in order, and how many they are.
bool is_right(const std::uint32_t* outputs, const std::uint32_t* number, std::uint32_t count) {
    std::vector<std::uint32_t> found(count);
    std::uint32_t kept = 0;
    check(cudaMemcpy(&kept, number, sizeof kept, cudaMemcpyDeviceToHost), "cudaMemcpy");
    check(cudaMemcpy(found.data(), outputs, 4ull * std::min(kept, count), cudaMemcpyDeviceToHost),
          "cudaMemcpy");
    std::uint32_t at = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t item = hashed(i);
        if (!IsUpperHalf()(item)) continue;
        if (at >= kept || found[at++] != item) {
            std::fprintf(stderr, "cub_select: %u items: item %u is not there\n", count, i);
            return false;
        }
    }
    if (at == kept) return true;
    std::fprintf(stderr, "cub_select: %u items: %u are kept, not %u\n", count, kept, at);
    return false;
}

}  // namespace

int main(int argc, char** argv) {
    peer::program = "cub_select";
    const peer::Sizes sizes = peer::parse_sizes(argc, argv);
    const std::uint64_t most = std::uint64_t{1} << sizes.to;
    const std::uint32_t* items = peer::make_hashed_items(most);
    std::uint32_t* outputs = peer::make_items(most, "cudaMalloc of the outputs");
    std::uint32_t* number = peer::make_items(1, "cudaMalloc of the number");
    cudaStream_t stream;
    check(cudaStreamCreate(&stream), "cudaStreamCreate");

    peer::Report report;
    for (int power = sizes.from; power <= sizes.to; power += sizes.step) {
        const auto count = static_cast<std::uint32_t>(std::uint64_t{1} << power);
        peer::Prepared call(
            [=](void* scratch, std::size_t& bytes) {
                return cub::DeviceSelect::If(scratch, bytes, items, outputs, number, count,
                                             IsUpperHalf(), stream);
            },
            stream);
        check(cudaMemset(outputs, 0xa5, 4ull * count), "cudaMemset");
        call.run_once();
        if (!is_right(outputs, number, count)) return 1;
        report.add("\"primitive\": \"select\", \"op\": \"half kept\", \"element\": \"u32\"", count,
                   call.time(power));
    }
    return report.end();
}
