#include "tests/support/scan_runner.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "primitives/scan/scan_reference.hpp"

namespace lanewise::test {
namespace {

std::string text(const Error& error) {
    return std::string(to_text(error.code)) + ": " + error.message;
}

bool is_extreme(Operator op) { return op == Operator::min || op == Operator::max || is_arg(op); }

}  // namespace

ScanRunner::ScanRunner(TestDevice& device, const ScanDesc& desc)
    : ScanRunner(device, desc, device.caps()) {}

ScanRunner::ScanRunner(TestDevice& device, const ScanDesc& desc, const Caps& caps) : desc_(desc) {
    auto plan = plan_scan(caps, desc);
    if (!plan) {
        ADD_FAILURE() << "no plan: " << text(plan.error());
        return;
    }
    EXPECT_EQ(plan->tier, desc.tier.value_or(plan->tier)) << "not the tier that was asked for";
    EXPECT_EQ(plan->result_bytes, scan_result_bytes(desc));
    EXPECT_EQ(bytes_needed(*plan, Role::output, desc.max_count),
              desc.max_count * scan_result_bytes(desc));
    runner_.emplace(device, *std::move(plan));
}

std::optional<std::vector<std::byte>> ScanRunner::run(std::span<const std::byte> data,
                                                      const RunOptions& options) {
    if (!*this) return std::nullopt;
    const std::uint64_t count = data.size() / plan().element_bytes;
    const std::size_t bound = runner_->bound_bytes(Role::input, count, options.count_in_buffer);
    // Past the data: elements that spoil the answer.
    Elements contents(desc_.element, std::max(data.size(), bound) / plan().element_bytes);
    for (std::size_t i = count; i < contents.count(); ++i)
        contents.set(i, hostile_bits(desc_.element, desc_.op, i));
    std::vector<std::byte> before(contents.bytes().begin(), contents.bytes().end());
    std::copy(data.begin(), data.end(), before.begin());
    const std::vector<std::byte> after = runner_->run(before, count, options);

    const std::uint64_t items =
        options.count_in_buffer ? std::min(options.count_value.value_or(count), plan().max_count)
                                : count;
    const std::size_t used = static_cast<std::size_t>(items) * plan().result_bytes;
    const std::size_t expected = runner_->bound_bytes(Role::output, count, options.count_in_buffer);
    if (after.size() != expected) {
        // What went wrong has been said, unless nothing did.
        EXPECT_TRUE(after.empty()) << after.size() << " bytes of output, not " << expected;
        return std::nullopt;
    }
    const std::vector<std::byte> untouched =
        options.in_place ? before : poison(std::max(after.size(), used));
    for (std::size_t i = used; i < after.size(); ++i) {
        if (after[i] == untouched[i]) continue;
        ADD_FAILURE() << "output " << i / plan().result_bytes << " is written, though only "
                      << items << " items count";
        break;
    }
    return std::vector<std::byte>(after.begin(), after.begin() + static_cast<std::ptrdiff_t>(used));
}

void ScanRunner::expect_matches(std::span<const std::byte> data,
                                std::span<const std::byte> output) const {
    std::string why;
    const std::size_t items = output.size() / plan().result_bytes;
    ASSERT_GE(data.size(), items * plan().element_bytes);
    EXPECT_TRUE(
        scan_matches(desc_, data.first(items * plan().element_bytes), output, &why, &plan()))
        << why;
}

void ScanRunner::expect_right(std::span<const std::byte> data, const RunOptions& options) {
    const auto output = run(data, options);
    if (output) expect_matches(data, *output);
}

Elements make_scan_elements(const ScanDesc& desc, std::size_t count, std::uint64_t seed,
                            FloatData floats) {
    Elements data = make_elements(desc.element, desc.op, count, seed, floats);
    if (!is_extreme(desc.op)) return data;
    // Special values stay as they are; of the others one seed in three keeps its many ties.
    const bool special = is_float(desc.element) && floats == FloatData::special;
    if (special || seed % 3 == 1 || count == 0) return data;
    const bool falls = desc.op == Operator::min || desc.op == Operator::argmin;
    const int bits = static_cast<int>(size_of(desc.element)) * 8;
    const std::uint64_t levels = bits == 8 ? 200 : 1800;  // f16 has every integer up to 2048
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t step = desc.direction == Direction::forward ? i : count - 1 - i;
        const std::uint64_t noise = hash(seed ^ 0x7e57, i);
        // Steps back and forth around a slope: new extremes all the way.
        std::uint64_t level = step * levels / count;
        if (noise % 4 == 0) level = std::min(level + noise / 4 % 5, levels);
        if (noise % 4 == 1) level -= std::min(level, noise / 4 % 50);
        const std::int64_t value =
            static_cast<std::int64_t>(falls ? levels - level : level) - (levels / 2);
        if (is_float(desc.element)) {
            data.set(i, float_bits(desc.element, static_cast<double>(value)));
        } else if (is_signed_integer(desc.element)) {
            data.set(i, static_cast<std::uint64_t>(value));
        } else {
            // Across the middle, where a comparison of the wrong kind goes wrong.
            data.set(i, (std::uint64_t{1} << (bits - 1)) + static_cast<std::uint64_t>(value));
        }
    }
    return data;
}

std::uint64_t initial_bits(const ScanDesc& desc, std::uint64_t seed) {
    const Scalar accumulator = scan_accumulator(desc);
    const std::uint64_t h = hash(seed ^ 0x1417);
    if (is_float(accumulator)) {
        if (desc.op == Operator::product) return float_bits(accumulator, -2.0);
        // In the middle of what make_scan_elements gives.
        return float_bits(accumulator, static_cast<double>(h % 101) - 50.0);
    }
    const std::uint64_t mask = size_of(accumulator) == 8 ? ~std::uint64_t{0} : 0xffffffff;
    switch (desc.op) {
        case Operator::product: return (h | 1) & mask;
        case Operator::bit_and: return ~(std::uint64_t{1} << h % 32) & mask;
        case Operator::bit_or: return std::uint64_t{1} << h % (size_of(accumulator) * 8);
        case Operator::min:
        case Operator::max: {
            const std::uint64_t half = std::uint64_t{1} << (size_of(desc.element) * 8 - 1);
            return ((is_signed_integer(desc.element) ? 0 : half) + h % 9 - 4) & mask;
        }
        default: return h & mask;
    }
}

bool is_possible(const Caps& caps, const ScanDesc& desc) {
    const auto plan = plan_scan(caps, desc);
    if (plan) return true;
    EXPECT_EQ(plan.error().code, ErrorCode::unsupported) << plan.error().message;
    return false;
}

std::vector<ScanStrategy> possible_strategies(const Caps& caps, ScanDesc desc) {
    std::vector<ScanStrategy> possible;
    ScanPolicy policy = desc.policy.value_or(ScanPolicy{});
    for (const ScanStrategy strategy : {ScanStrategy::one_workgroup, ScanStrategy::reduce_then_scan,
                                        ScanStrategy::look_back, ScanStrategy::reduce_ahead}) {
        policy.strategy = strategy;
        policy.ahead = strategy == ScanStrategy::reduce_ahead ? std::max(policy.ahead, 1u) : 0;
        desc.policy = policy;
        if (is_possible(caps, desc)) possible.push_back(strategy);
    }
    return possible;
}

}  // namespace lanewise::test
