// CUB's DeviceScan::ExclusiveSum on the input of `lanewise bench scan`, verified before it is
// timed, and timed the same way (cub_timing.cuh). Prints the JSON that --peer reads.
//
//   nvcc -O3 -std=c++17 -arch=native cub_scan.cu -o cub_scan
//   ./cub_scan [FROM:TO[:STEP]] >cub.json          sizes as powers of two, default 10:28:2
#include "cub_timing.cuh"

namespace {

using peer::check;
using peer::hashed;

// Counts in 32 bits where they fit, which spares CUB 64-bit offsets.
cudaError_t scan(void* scratch, std::size_t& bytes, const std::uint32_t* items,
                 std::uint32_t* outputs, std::uint64_t count, cudaStream_t stream) {
    if (count <= 0xffffffffu) {
        return cub::DeviceScan::ExclusiveSum(scratch, bytes, items, outputs,
                                             static_cast<std::uint32_t>(count), stream);
    }
    return cub::DeviceScan::ExclusiveSum(scratch, bytes, items, outputs, count, stream);
}

// Every output, a part at a time; says which is wrong.
bool is_right(const std::uint32_t* outputs, std::uint64_t count) {
    constexpr std::uint64_t kPart = std::uint64_t{1} << 22;
    std::vector<std::uint32_t> part(static_cast<std::size_t>(std::min(count, kPart)));
    std::uint32_t expected = 0;
    for (std::uint64_t begin = 0; begin < count; begin += part.size()) {
        check(cudaMemcpy(part.data(), outputs + begin, part.size() * sizeof part[0],
                         cudaMemcpyDeviceToHost),
              "cudaMemcpy");
        for (std::size_t i = 0; i < part.size(); ++i) {
            if (part[i] != expected) {
                std::fprintf(stderr, "cub_scan: output %llu of %llu: got %u, not %u\n",
                             static_cast<unsigned long long>(begin + i),
                             static_cast<unsigned long long>(count), part[i], expected);
                return false;
            }
            expected += hashed(static_cast<std::uint32_t>(begin + i));
        }
    }
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    peer::program = "cub_scan";
    const peer::Sizes sizes = peer::parse_sizes(argc, argv);
    const std::uint64_t most = std::uint64_t{1} << sizes.to;
    const std::uint32_t* items = peer::make_hashed_items(most);
    std::uint32_t* outputs = peer::make_items(most, "cudaMalloc of the outputs");
    cudaStream_t stream;
    check(cudaStreamCreate(&stream), "cudaStreamCreate");

    peer::Report report;
    for (int power = sizes.from; power <= sizes.to; power += sizes.step) {
        const std::uint64_t count = std::uint64_t{1} << power;
        peer::Prepared call(
            [=](void* scratch, std::size_t& bytes) {
                return scan(scratch, bytes, items, outputs, count, stream);
            },
            stream);
        check(cudaMemset(outputs, 0xa5, count * sizeof *outputs), "cudaMemset");
        call.run_once();
        if (!is_right(outputs, count)) return 1;
        report.add(
            "\"primitive\": \"scan\", \"kind\": \"exclusive\", \"op\": \"sum\", "
            "\"element\": \"u32\"",
            count, call.time(power));
    }
    return report.end();
}
