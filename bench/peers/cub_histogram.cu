// CUB's DeviceHistogram::HistogramEven, 256 bins of u8, on the input of `lanewise bench histogram
// --type u8`, both of --data: verified before it is timed, and timed the same way (cub_timing.cuh).
// Prints the JSON that --peer reads.
//
//   nvcc -O3 -std=c++17 -arch=native cub_histogram.cu -o cub_histogram
//   ./cub_histogram [FROM:TO[:STEP]] >cub.json     sizes as powers of two, default 10:28:2
#include "cub_timing.cuh"

namespace {

using peer::check;
using peer::hashed;

constexpr int kBins = 256;

std::uint8_t sample(bool one_bin, std::uint64_t i) {
    return static_cast<std::uint8_t>(hashed(one_bin ? 1u : static_cast<std::uint32_t>(i)));
}

// Counts in 32 bits where they fit, which spares CUB 64-bit offsets.
cudaError_t histogram(void* scratch, std::size_t& bytes, const std::uint8_t* samples, int* counts,
                      std::uint64_t count, cudaStream_t stream) {
    if (count <= 0x7fffffffu) {
        return cub::DeviceHistogram::HistogramEven(scratch, bytes, samples, counts, kBins + 1, 0,
                                                   kBins, static_cast<int>(count), stream);
    }
    return cub::DeviceHistogram::HistogramEven(scratch, bytes, samples, counts, kBins + 1, 0, kBins,
                                               static_cast<long long>(count), stream);
}

bool is_right(bool one_bin, const int* counts, std::uint64_t count) {
    std::vector<int> expected(kBins);
    std::vector<int> got(kBins);
    for (std::uint64_t i = 0; i < count; ++i) ++expected[sample(one_bin, i)];
    check(cudaMemcpy(got.data(), counts, kBins * sizeof got[0], cudaMemcpyDeviceToHost),
          "cudaMemcpy");
    for (int bin = 0; bin < kBins; ++bin) {
        if (got[bin] == expected[bin]) continue;
        std::fprintf(stderr, "cub_histogram: bin %d of %llu samples: got %d, not %d\n", bin,
                     static_cast<unsigned long long>(count), got[bin], expected[bin]);
        return false;
    }
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    peer::program = "cub_histogram";
    const peer::Sizes sizes = peer::parse_sizes(argc, argv);
    const std::uint64_t most = std::uint64_t{1} << sizes.to;
    std::uint8_t* samples = nullptr;
    int* counts = nullptr;
    check(cudaMalloc(&samples, most), "cudaMalloc of the input");
    check(cudaMalloc(&counts, kBins * sizeof *counts), "cudaMalloc of the counts");
    cudaStream_t stream;
    check(cudaStreamCreate(&stream), "cudaStreamCreate");

    peer::Report report;
    for (const bool one_bin : {false, true}) {
        std::vector<std::uint8_t> data(most);
        for (std::uint64_t i = 0; i < most; ++i) data[i] = sample(one_bin, i);
        check(cudaMemcpy(samples, data.data(), most, cudaMemcpyHostToDevice), "cudaMemcpy");
        for (int power = sizes.from; power <= sizes.to; power += sizes.step) {
            const std::uint64_t count = std::uint64_t{1} << power;
            peer::Prepared call(
                [=](void* scratch, std::size_t& bytes) {
                    return histogram(scratch, bytes, samples, counts, count, stream);
                },
                stream);
            check(cudaMemset(counts, 0xa5, kBins * sizeof *counts), "cudaMemset");
            call.run_once();
            if (!is_right(one_bin, counts, count)) return 1;
            report.add(one_bin ? "\"primitive\": \"histogram\", \"kind\": \"one_bin\", \"op\": "
                                 "\"256 bins\", \"element\": \"u8\""
                               : "\"primitive\": \"histogram\", \"kind\": \"uniform\", \"op\": "
                                 "\"256 bins\", \"element\": \"u8\"",
                       count, call.time(power));
        }
    }
    return report.end();
}
