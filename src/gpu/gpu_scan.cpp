// Gpu::scan.

#include "src/gpu/gpu_run.hpp"

namespace lanewise {

namespace {

using detail::without_throwing;

constexpr detail::Primitive<ScanDesc> kScan{
    plan_scan, [](const ScanDesc& desc) { return desc.max_count * scan_result_bytes(desc); }};

template <class T>
Result<std::vector<T>> scan_typed(Gpu& gpu, std::span<const T> data, Operator op, ScanKind kind) {
    return without_throwing("scanning", [&]() -> Result<std::vector<T>> {
        if (auto values = detail::require_values(op, "scan", "ScanDesc"); !values) {
            return tl::unexpected(values.error());
        }
        auto scanned = gpu.scan(std::as_bytes(data),
                                {.element = detail::scalar_of<T>(), .op = op, .kind = kind});
        if (!scanned) return tl::unexpected(scanned.error());
        return detail::values_of<T>(scanned->bytes);
    });
}

}  // namespace

Result<ScanResult> Gpu::scan(std::span<const std::byte> data, ScanDesc desc) {
    return without_throwing("scanning", [&] {
        auto result = detail::run_on_host<ScanResult>(*state_, data, desc, kScan);
        if (result) result->accumulator = scan_accumulator(desc);
        return result;
    });
}

Result<std::vector<std::uint32_t>> Gpu::scan(std::span<const std::uint32_t> data, Operator op,
                                             ScanKind kind) {
    return scan_typed(*this, data, op, kind);
}
Result<std::vector<std::int32_t>> Gpu::scan(std::span<const std::int32_t> data, Operator op,
                                            ScanKind kind) {
    return scan_typed(*this, data, op, kind);
}
Result<std::vector<float>> Gpu::scan(std::span<const float> data, Operator op, ScanKind kind) {
    return scan_typed(*this, data, op, kind);
}
Result<std::vector<std::uint64_t>> Gpu::scan(std::span<const std::uint64_t> data, Operator op,
                                             ScanKind kind) {
    return scan_typed(*this, data, op, kind);
}
Result<std::vector<std::int64_t>> Gpu::scan(std::span<const std::int64_t> data, Operator op,
                                            ScanKind kind) {
    return scan_typed(*this, data, op, kind);
}
Result<std::vector<double>> Gpu::scan(std::span<const double> data, Operator op, ScanKind kind) {
    return scan_typed(*this, data, op, kind);
}

}  // namespace lanewise
