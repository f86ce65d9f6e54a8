// Gpu: owns a device and does the whole round trip: plans, uploads, runs, downloads, and falls back
// to a lower tier when the device or a driver fails one. For tools, tests and first steps; an
// application with a device of its own uses lanewise/vulkan.hpp or lanewise/webgpu.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lanewise/bundle.hpp"
#include "lanewise/caps.hpp"
#include "lanewise/error.hpp"
#include "lanewise/histogram.hpp"
#include "lanewise/reduce.hpp"
#include "lanewise/scan.hpp"
#include "lanewise/segmented_reduce.hpp"
#include "lanewise/segmented_sort.hpp"
#include "lanewise/select.hpp"
#include "lanewise/simulator.hpp"
#include "lanewise/sort.hpp"
#include "lanewise/split.hpp"
#include "lanewise/top_k.hpp"

namespace lanewise {

namespace vulkan {
class Device;
}
namespace webgpu {
class Device;
}

struct GpuOptions {
    // vulkan or webgpu; the latter is an error in a build without it.
    Api api = Api::vulkan;
    // Index in Gpu::list(), or part of a device name, case ignored. Empty: of Vulkan's, what
    // LANEWISE_DEVICE says where the environment sets it, else the best: discrete, integrated,
    // virtual, CPU; of WebGPU's, the one that there is.
    std::string device;
    // Runs the self-test and uses what it leaves. Off: trusts the API, as is always done on WebGPU.
    bool probe = true;
    // Core, synchronisation and GPU-assisted validation, where the layer is installed; each message
    // goes to on_validation_message. An error when asked for and not there. WebGPU always
    // validates; there the messages are errors that no call of ours was answered with, from any
    // thread.
    bool validation = false;
    std::function<void(const std::string&)> on_validation_message;
    // Features, and extensions of Vulkan, that are not to be used although they are there, by their
    // API's names: "shaderFloat64"; "subgroups", "subgroup-size-control" and "timestamp-query".
    std::vector<std::string> leave_out;
    // Path or name of the library of an implementation of WebGPU. Empty: what
    // LANEWISE_WEBGPU_LIBRARY says where the environment sets it, else wgpu-native or Dawn by their
    // usual names (libwgpu_native.so, libwebgpu_dawn.so) where the system's loader finds them.
    std::string webgpu_library;
    // Runs on this machine of the simulator instead of a device; the options above do not matter
    // then. An error in a build without the simulator.
    std::optional<simulator::Machine> machine;
    // Has kernels of custom operators. Those that it lacks are compiled, in a build with
    // lanewise::jit. WebGPU needs neither.
    Bundle bundle;
};

struct GpuInfo {
    std::uint32_t index = 0;
    std::string name;
    std::string driver;
    std::string type;  // "discrete", "integrated", "virtual", "cpu", "other"; "simulated"
    Api api = Api::vulkan;
};

struct PassTime {
    std::string name;
    double nanoseconds = 0.0;  // by the device's timestamps; 0 where it has none
};

// What a run did.
struct RunReport {
    Plan plan;
    std::vector<PassTime> passes;
    std::vector<std::string> fallbacks;  // tiers that failed on the way, and why
    std::vector<std::string> faults;     // that the simulator found in the kernels
};

// A reduction's result as bytes: the value (element 0), then for argmin and argmax the index; of a
// custom operator a Result.
struct ReduceResult {
    Scalar accumulator = Scalar::u32;  // means nothing with a custom operator
    std::vector<std::byte> bytes;
    RunReport report;
};

// The results of the segments as bytes, segmented_reduce_result_bytes each, laid out as those of a
// reduction.
struct SegmentedReduceResult {
    Scalar accumulator = Scalar::u32;  // means nothing with a custom operator
    std::vector<std::byte> bytes;
    RunReport report;
};

// A scan's outputs as bytes, scan_result_bytes each, laid out as plan_scan says.
struct ScanResult {
    Scalar accumulator = Scalar::u32;  // means nothing with a custom operator
    std::vector<std::byte> bytes;
    RunReport report;
};

// What a sort gives as bytes, as many as there were: keys and values in order. With argsort no
// keys, and the indices as values, each a u32.
struct SortResult {
    std::vector<std::byte> keys;
    std::vector<std::byte> values;
    RunReport report;
};

// What a top_k gives as bytes, as many as there were: keys in order, and their values; with indices
// those as values, each a u32.
struct TopKResult {
    std::vector<std::byte> keys;
    std::vector<std::byte> values;
    RunReport report;
};

// What a split gives: keys and values (or indices, each a u32) by buckets, as many as there were,
// and where each bucket begins, 2^bits + 1 numbers.
struct SplitResult {
    std::vector<std::byte> keys;
    std::vector<std::byte> values;
    std::vector<std::uint32_t> offsets;
    RunReport report;
};

// What a select gives as bytes, as many items as there were: those that are kept (in a partition
// the others behind them), what travels with them (with indices those, each a u32), and those that
// are rejected, where the select has them.
struct SelectResult {
    std::uint64_t count = 0;  // of items that are kept, whatever the capacity
    std::vector<std::byte> items;
    std::vector<std::byte> values;
    std::vector<std::byte> rejected;
    RunReport report;
};

// Items by a partition: the first `count` are those that are kept.
template <class T>
struct Partitioned {
    std::vector<T> items;
    std::uint64_t count = 0;
};

// Counts of a histogram, desc.bins for each channel, one channel after the other.
struct HistogramResult {
    std::vector<std::uint32_t> counts;
    RunReport report;
};

class Gpu {
public:
    static Result<Gpu> create(const GpuOptions& options = {});
    // The devices of an API, vulkan or webgpu; empty when the API is not there at all. WebGPU shows
    // one device, the one that Gpu would take.
    static Result<std::vector<GpuInfo>> list(Api api = Api::vulkan);

    Gpu(Gpu&&) noexcept;
    Gpu& operator=(Gpu&&) noexcept;
    ~Gpu();

    const GpuInfo& info() const;
    // After the probe, where it ran.
    const Caps& caps() const;
    // Null where it runs on another host.
    const vulkan::Device* vulkan_device() const;
    const webgpu::Device* webgpu_device() const;

    // desc.max_count is set from the data.
    Result<ReduceResult> reduce(std::span<const std::byte> data, ReduceDesc desc);

    // Reduces with the default accumulator where it is the element's own type.
    Result<std::uint32_t> reduce(std::span<const std::uint32_t> data, Operator op = Operator::sum);
    Result<std::int32_t> reduce(std::span<const std::int32_t> data, Operator op = Operator::sum);
    Result<float> reduce(std::span<const float> data, Operator op = Operator::sum);
    Result<std::uint64_t> reduce(std::span<const std::uint64_t> data, Operator op = Operator::sum);
    Result<std::int64_t> reduce(std::span<const std::int64_t> data, Operator op = Operator::sum);
    Result<double> reduce(std::span<const double> data, Operator op = Operator::sum);

    // Segment s is items [offsets[s], offsets[s + 1]). Offsets that descend or pass the number of
    // items are an error here. desc.max_count and desc.max_segments are set from the data.
    Result<SegmentedReduceResult> segmented_reduce(std::span<const std::byte> data,
                                                   std::span<const std::uint32_t> offsets,
                                                   SegmentedReduceDesc desc);

    // Reduces each segment with the default accumulator where it is the element's own type.
    Result<std::vector<std::uint32_t>> segmented_reduce(std::span<const std::uint32_t> data,
                                                        std::span<const std::uint32_t> offsets,
                                                        Operator op = Operator::sum);
    Result<std::vector<std::int32_t>> segmented_reduce(std::span<const std::int32_t> data,
                                                       std::span<const std::uint32_t> offsets,
                                                       Operator op = Operator::sum);
    Result<std::vector<float>> segmented_reduce(std::span<const float> data,
                                                std::span<const std::uint32_t> offsets,
                                                Operator op = Operator::sum);
    Result<std::vector<std::uint64_t>> segmented_reduce(std::span<const std::uint64_t> data,
                                                        std::span<const std::uint32_t> offsets,
                                                        Operator op = Operator::sum);
    Result<std::vector<std::int64_t>> segmented_reduce(std::span<const std::int64_t> data,
                                                       std::span<const std::uint32_t> offsets,
                                                       Operator op = Operator::sum);
    Result<std::vector<double>> segmented_reduce(std::span<const double> data,
                                                 std::span<const std::uint32_t> offsets,
                                                 Operator op = Operator::sum);

    // desc.max_count is set from the data.
    Result<ScanResult> scan(std::span<const std::byte> data, ScanDesc desc);

    // Scans with the default accumulator where it is the element's own type; one output for each
    // item.
    Result<std::vector<std::uint32_t>> scan(std::span<const std::uint32_t> data,
                                            Operator op = Operator::sum,
                                            ScanKind kind = ScanKind::inclusive);
    Result<std::vector<std::int32_t>> scan(std::span<const std::int32_t> data,
                                           Operator op = Operator::sum,
                                           ScanKind kind = ScanKind::inclusive);
    Result<std::vector<float>> scan(std::span<const float> data, Operator op = Operator::sum,
                                    ScanKind kind = ScanKind::inclusive);
    Result<std::vector<std::uint64_t>> scan(std::span<const std::uint64_t> data,
                                            Operator op = Operator::sum,
                                            ScanKind kind = ScanKind::inclusive);
    Result<std::vector<std::int64_t>> scan(std::span<const std::int64_t> data,
                                           Operator op = Operator::sum,
                                           ScanKind kind = ScanKind::inclusive);
    Result<std::vector<double>> scan(std::span<const double> data, Operator op = Operator::sum,
                                     ScanKind kind = ScanKind::inclusive);

    // Values are empty, or desc.value_bytes for each key. desc.max_count is set from the keys;
    // ping_pong is for buffers of the caller's own, and an error here.
    Result<SortResult> sort(std::span<const std::byte> keys, std::span<const std::byte> values,
                            SortDesc desc);

    // Keys alone, in order.
    Result<std::vector<std::uint32_t>> sort(std::span<const std::uint32_t> keys,
                                            SortOrder order = SortOrder::ascending);
    Result<std::vector<std::int32_t>> sort(std::span<const std::int32_t> keys,
                                           SortOrder order = SortOrder::ascending);
    Result<std::vector<float>> sort(std::span<const float> keys,
                                    SortOrder order = SortOrder::ascending);
    Result<std::vector<std::uint64_t>> sort(std::span<const std::uint64_t> keys,
                                            SortOrder order = SortOrder::ascending);
    Result<std::vector<std::int64_t>> sort(std::span<const std::int64_t> keys,
                                           SortOrder order = SortOrder::ascending);
    Result<std::vector<double>> sort(std::span<const double> keys,
                                     SortOrder order = SortOrder::ascending);

    // Where each key in order stood: keys[argsort(keys)[0]] is the first of them.
    Result<std::vector<std::uint32_t>> argsort(std::span<const std::uint32_t> keys,
                                               SortOrder order = SortOrder::ascending);
    Result<std::vector<std::uint32_t>> argsort(std::span<const std::int32_t> keys,
                                               SortOrder order = SortOrder::ascending);
    Result<std::vector<std::uint32_t>> argsort(std::span<const float> keys,
                                               SortOrder order = SortOrder::ascending);
    Result<std::vector<std::uint32_t>> argsort(std::span<const std::uint64_t> keys,
                                               SortOrder order = SortOrder::ascending);
    Result<std::vector<std::uint32_t>> argsort(std::span<const std::int64_t> keys,
                                               SortOrder order = SortOrder::ascending);
    Result<std::vector<std::uint32_t>> argsort(std::span<const double> keys,
                                               SortOrder order = SortOrder::ascending);

    // Segment s is items [offsets[s], offsets[s + 1]). Values as of sort; offsets that descend or
    // pass the number of keys are an error here. desc.max_count is set from the keys.
    Result<SortResult> segmented_sort(std::span<const std::byte> keys,
                                      std::span<const std::byte> values,
                                      std::span<const std::uint32_t> offsets,
                                      SegmentedSortDesc desc);

    // Keys alone, each segment in order.
    Result<std::vector<std::uint32_t>> segmented_sort(std::span<const std::uint32_t> keys,
                                                      std::span<const std::uint32_t> offsets,
                                                      SortOrder order = SortOrder::ascending);
    Result<std::vector<std::int32_t>> segmented_sort(std::span<const std::int32_t> keys,
                                                     std::span<const std::uint32_t> offsets,
                                                     SortOrder order = SortOrder::ascending);
    Result<std::vector<float>> segmented_sort(std::span<const float> keys,
                                              std::span<const std::uint32_t> offsets,
                                              SortOrder order = SortOrder::ascending);
    Result<std::vector<std::uint64_t>> segmented_sort(std::span<const std::uint64_t> keys,
                                                      std::span<const std::uint32_t> offsets,
                                                      SortOrder order = SortOrder::ascending);
    Result<std::vector<std::int64_t>> segmented_sort(std::span<const std::int64_t> keys,
                                                     std::span<const std::uint32_t> offsets,
                                                     SortOrder order = SortOrder::ascending);
    Result<std::vector<double>> segmented_sort(std::span<const double> keys,
                                               std::span<const std::uint32_t> offsets,
                                               SortOrder order = SortOrder::ascending);

    // Values as of sort; with desc.indices there are none to give. desc.max_count is set from the
    // keys.
    Result<SplitResult> split(std::span<const std::byte> keys, std::span<const std::byte> values,
                              SplitDesc desc);

    // Values are empty, or desc.value_bytes for each key. desc.max_count is set from the keys.
    Result<TopKResult> top_k(std::span<const std::byte> keys, std::span<const std::byte> values,
                             TopKDesc desc);

    // The first k keys in order, the largest first; all where there are fewer.
    Result<std::vector<std::uint32_t>> top_k(std::span<const std::uint32_t> keys, std::uint64_t k,
                                             SortOrder order = SortOrder::descending);
    Result<std::vector<std::int32_t>> top_k(std::span<const std::int32_t> keys, std::uint64_t k,
                                            SortOrder order = SortOrder::descending);
    Result<std::vector<float>> top_k(std::span<const float> keys, std::uint64_t k,
                                     SortOrder order = SortOrder::descending);
    Result<std::vector<std::uint64_t>> top_k(std::span<const std::uint64_t> keys, std::uint64_t k,
                                             SortOrder order = SortOrder::descending);
    Result<std::vector<std::int64_t>> top_k(std::span<const std::int64_t> keys, std::uint64_t k,
                                            SortOrder order = SortOrder::descending);
    Result<std::vector<double>> top_k(std::span<const double> keys, std::uint64_t k,
                                      SortOrder order = SortOrder::descending);

    // Flags are desc.flag_bits for each item, rounded up to whole bytes; none with a predicate.
    // Values are empty, or desc.value_bytes for each item. desc.max_count is set from the items.
    Result<SelectResult> select(std::span<const std::byte> items, std::span<const std::byte> flags,
                                std::span<const std::byte> values, SelectDesc desc);

    // The items for which the shader expression `keep`, of `x` and `index`, is true, in order, as
    // CustomPredicate::keep says: gpu.select(values, "x > 15").
    Result<std::vector<std::uint32_t>> select(std::span<const std::uint32_t> items,
                                              std::string_view keep);
    Result<std::vector<std::int32_t>> select(std::span<const std::int32_t> items,
                                             std::string_view keep);
    Result<std::vector<float>> select(std::span<const float> items, std::string_view keep);
    Result<std::vector<std::uint64_t>> select(std::span<const std::uint64_t> items,
                                              std::string_view keep);
    Result<std::vector<std::int64_t>> select(std::span<const std::int64_t> items,
                                             std::string_view keep);
    Result<std::vector<double>> select(std::span<const double> items, std::string_view keep);
    // The items whose flags are not zero, in order: one flag for each item.
    Result<std::vector<std::uint32_t>> select(std::span<const std::uint32_t> items,
                                              std::span<const std::uint8_t> flags);
    Result<std::vector<std::int32_t>> select(std::span<const std::int32_t> items,
                                             std::span<const std::uint8_t> flags);
    Result<std::vector<float>> select(std::span<const float> items,
                                      std::span<const std::uint8_t> flags);
    Result<std::vector<std::uint64_t>> select(std::span<const std::uint64_t> items,
                                              std::span<const std::uint8_t> flags);
    Result<std::vector<std::int64_t>> select(std::span<const std::int64_t> items,
                                             std::span<const std::uint8_t> flags);
    Result<std::vector<double>> select(std::span<const double> items,
                                       std::span<const std::uint8_t> flags);
    // All items: those that are kept, in order, then the others, in order.
    Result<Partitioned<std::uint32_t>> partition(std::span<const std::uint32_t> items,
                                                 std::string_view keep);
    Result<Partitioned<std::int32_t>> partition(std::span<const std::int32_t> items,
                                                std::string_view keep);
    Result<Partitioned<float>> partition(std::span<const float> items, std::string_view keep);
    Result<Partitioned<std::uint64_t>> partition(std::span<const std::uint64_t> items,
                                                 std::string_view keep);
    Result<Partitioned<std::int64_t>> partition(std::span<const std::int64_t> items,
                                                std::string_view keep);
    Result<Partitioned<double>> partition(std::span<const double> items, std::string_view keep);
    Result<Partitioned<std::uint32_t>> partition(std::span<const std::uint32_t> items,
                                                 std::span<const std::uint8_t> flags);
    Result<Partitioned<std::int32_t>> partition(std::span<const std::int32_t> items,
                                                std::span<const std::uint8_t> flags);
    Result<Partitioned<float>> partition(std::span<const float> items,
                                         std::span<const std::uint8_t> flags);
    Result<Partitioned<std::uint64_t>> partition(std::span<const std::uint64_t> items,
                                                 std::span<const std::uint8_t> flags);
    Result<Partitioned<std::int64_t>> partition(std::span<const std::int64_t> items,
                                                std::span<const std::uint8_t> flags);
    Result<Partitioned<double>> partition(std::span<const double> items,
                                          std::span<const std::uint8_t> flags);
    // Samples side by side, desc.channels for each item. desc.max_count is set from them.
    Result<HistogramResult> histogram(std::span<const std::byte> samples, HistogramDesc desc);

    // Counts of the 256 bytes that there are.
    Result<std::vector<std::uint32_t>> histogram(std::span<const std::uint8_t> samples);
    // Counts in `bins` even bins of the range.
    Result<std::vector<std::uint32_t>> histogram(std::span<const std::uint32_t> samples,
                                                 std::uint32_t bins, HistogramRange range);
    Result<std::vector<std::uint32_t>> histogram(std::span<const std::int32_t> samples,
                                                 std::uint32_t bins, HistogramRange range);
    Result<std::vector<std::uint32_t>> histogram(std::span<const float> samples, std::uint32_t bins,
                                                 HistogramRange range);

    struct State;

private:
    explicit Gpu(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace lanewise
