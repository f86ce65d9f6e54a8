// CUB's DeviceRadixSort::SortKeys and SortPairs on the input of `lanewise bench sort`, verified before
// they are timed, and timed the same way (cub_timing.cuh). Prints the JSON that --peer reads.
//
//   nvcc -O3 -std=c++17 -arch=native cub_sort.cu -o cub_sort
//   ./cub_sort [FROM:TO[:STEP]] >cub.json          sizes as powers of two, default 10:28:2
#include "cub_timing.cuh"

namespace {

using peer::check;

// Order, and that each key has the value of its item: with distinct keys that is all.
__global__ void count_wrong(const std::uint32_t* items, const std::uint32_t* keys,
                            const std::uint32_t* values, std::uint32_t count,
                            unsigned long long* sum, unsigned int* wrong) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    if (i + 1 < count && keys[i] > keys[i + 1]) atomicAdd(wrong, 1u);
    if (values != nullptr && items[values[i]] != keys[i]) atomicAdd(wrong, 1u);
    atomicAdd(sum, static_cast<unsigned long long>(keys[i]) - items[i]);
}

bool is_right(const std::uint32_t* items, const std::uint32_t* keys, const std::uint32_t* values,
              std::uint32_t count) {
    unsigned long long* found = nullptr;
    check(cudaMalloc(&found, 16), "cudaMalloc");
    check(cudaMemset(found, 0, 16), "cudaMemset");
    count_wrong<<<(count + 255) / 256, 256>>>(items, keys, values, count, found,
                                              reinterpret_cast<unsigned int*>(found + 1));
    unsigned long long result[2];
    check(cudaMemcpy(result, found, 16, cudaMemcpyDeviceToHost), "cudaMemcpy");
    cudaFree(found);
    if (result[0] == 0 && result[1] == 0) return true;
    std::fprintf(stderr, "cub_sort: %u items: wrong\n", count);
    return false;
}

}  // namespace

int main(int argc, char** argv) {
    peer::program = "cub_sort";
    const peer::Sizes sizes = peer::parse_sizes(argc, argv);
    const std::uint64_t most = std::uint64_t{1} << sizes.to;
    const std::uint32_t* items = peer::make_hashed_items(most);
    std::vector<std::uint32_t> numbers(most);
    for (std::uint64_t i = 0; i < most; ++i) numbers[i] = static_cast<std::uint32_t>(i);
    std::uint32_t* values = peer::make_items(most, "cudaMalloc of the values");
    check(cudaMemcpy(values, numbers.data(), 4 * most, cudaMemcpyHostToDevice), "cudaMemcpy");
    std::uint32_t* keys_out = peer::make_items(most, "cudaMalloc of the keys");
    std::uint32_t* values_out = peer::make_items(most, "cudaMalloc of the values");
    cudaStream_t stream;
    check(cudaStreamCreate(&stream), "cudaStreamCreate");

    peer::Report report;
    for (const bool pairs : {false, true}) {
        for (int power = sizes.from; power <= sizes.to; power += sizes.step) {
            const auto count = static_cast<std::uint32_t>(std::uint64_t{1} << power);
            peer::Prepared call(
                [=](void* scratch, std::size_t& bytes) {
                    return pairs ? cub::DeviceRadixSort::SortPairs(scratch, bytes, items, keys_out,
                                                                   values, values_out, count, 0, 32,
                                                                   stream)
                                 : cub::DeviceRadixSort::SortKeys(scratch, bytes, items, keys_out,
                                                                  count, 0, 32, stream);
                },
                stream);
            check(cudaMemset(keys_out, 0xa5, 4ull * count), "cudaMemset");
            call.run_once();
            if (!is_right(items, keys_out, pairs ? values_out : nullptr, count)) return 1;
            report.add(pairs ? "\"primitive\": \"sort\", \"kind\": \"ascending\", \"op\": "
                               "\"pairs\", \"element\": \"u32\""
                             : "\"primitive\": \"sort\", \"kind\": \"ascending\", \"op\": "
                               "\"keys\", \"element\": \"u32\"",
                       count, call.time(power));
        }
    }
    return report.end();
}
