// What the primitives of Gpu do alike: bytes to a plan, a run, and a lower tier where one fails.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lanewise/operators.hpp"
#include "src/core/accumulators.hpp"
#include "src/core/without_throwing.hpp"
#include "src/gpu/gpu_host.hpp"

namespace lanewise::detail {

template <class T>
constexpr Scalar scalar_of() {
    if constexpr (std::is_same_v<T, std::uint32_t>) return Scalar::u32;
    if constexpr (std::is_same_v<T, std::int32_t>) return Scalar::i32;
    if constexpr (std::is_same_v<T, float>) return Scalar::f32;
    if constexpr (std::is_same_v<T, std::uint64_t>) return Scalar::u64;
    if constexpr (std::is_same_v<T, std::int64_t>) return Scalar::i64;
    if constexpr (std::is_same_v<T, double>) return Scalar::f64;
}

// What a host gave, as numbers.
template <class T>
std::vector<T> values_of(const std::vector<std::byte>& bytes) {
    std::vector<T> values(bytes.size() / sizeof(T));
    // memcpy takes no null pointers, not even for no bytes.
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

// How a primitive is planned, and how many bytes it gives for desc.max_count items.
template <class Desc>
struct Primitive {
    Result<Plan> (*plan)(const Caps& caps, const Desc& desc);
    std::uint64_t (*output_bytes)(const Desc& desc);
};

// Runs desc.max_count items. Goes to a lower tier where the driver refuses a pipeline of this one,
// unless the caller forced it.
template <class Desc>
Result<void> plan_and_run(Gpu::State& gpu, const Desc& desc,
                          Result<Plan> (*make_plan)(const Caps& caps, const Desc& desc),
                          const RunData& data, RunReport& report) {
    GpuHost& host = *gpu.host;
    Caps caps = host.caps();
    for (;;) {
        auto plan = make_plan(caps, desc);
        if (!plan) return tl::unexpected(plan.error());
        if (auto added = gpu.add_kernels(*plan); !added) return added;
        auto ran = host.run(*plan, desc.max_count, data, gpu.bundle, report);
        if (ran) {
            report.plan = *std::move(plan);
            return {};
        }
        if (desc.tier || ran.error().retry_caps == nullptr) return ran;
        report.fallbacks.push_back(fmt::format("{}: {}", to_text(plan->tier), ran.error().message));
        caps = *ran.error().retry_caps;
    }
}

// Sets desc.max_count from the items.
template <class Desc>
Result<void> take_items(std::span<const std::byte> data, Desc& desc) {
    if (desc.custom) {
        if (auto checked = check(*desc.custom); !checked) return checked;
    }
    const std::size_t element_bytes = detail::element_bytes(combination_of(desc));
    if (data.size() % element_bytes != 0) {
        return tl::unexpected(
            Error{ErrorCode::bad_argument,
                  fmt::format("{} bytes are no whole number of {}: {} bytes each", data.size(),
                              element_text(combination_of(desc)), element_bytes)});
    }
    desc.max_count = data.size() / element_bytes;
    return {};
}

// An error where offsets descend or pass the `count` items. `what`: "keys".
inline Result<void> check_offsets(std::span<const std::uint32_t> offsets, std::uint64_t count,
                                  const char* what) {
    const auto bad = [](std::string message) {
        return tl::unexpected(Error{ErrorCode::bad_argument, std::move(message), nullptr});
    };
    const auto falls = std::ranges::is_sorted_until(offsets);
    if (falls != offsets.end()) {
        return bad(
            fmt::format("offset {} is {}, below the one before, {}: offsets must not descend",
                        falls - offsets.begin(), *falls, *(falls - 1)));
    }
    if (!offsets.empty() && offsets.back() > count) {
        return bad(
            fmt::format("the last offset is {}, past the {} {}", offsets.back(), count, what));
    }
    return {};
}

// Fills outcome.bytes and outcome.report.
template <class Outcome, class Desc>
Result<Outcome> run_on_host(Gpu::State& gpu, std::span<const std::byte> data, Desc desc,
                            const Primitive<Desc>& primitive) {
    if (auto taken = take_items(data, desc); !taken) return tl::unexpected(taken.error());
    Outcome outcome;
    outcome.bytes.assign(primitive.output_bytes(desc), std::byte{});
    auto ran = plan_and_run(gpu, desc, primitive.plan, {.input = data, .output = outcome.bytes},
                            outcome.report);
    if (!ran) return tl::unexpected(ran.error());
    return outcome;
}

// An error where a typed call has no place for what the operator gives. `verb`: "reduce".
inline Result<void> require_values(Operator op, const char* verb, const char* desc) {
    if (!is_arg(op)) return {};
    return tl::unexpected(
        Error{ErrorCode::bad_argument,
              fmt::format("{} gives an index beside the value: call {} with bytes and a {}",
                          to_text(op), verb, desc)});
}

}  // namespace lanewise::detail
