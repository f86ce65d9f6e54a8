#include "tests/support/plan_runner.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "tests/support/test_data.hpp"

namespace lanewise::test {
namespace {

// Guard bytes differ from byte to byte and from the poison, so that a copy of neither passes.
std::byte guard_byte(std::size_t index) {
    return static_cast<std::byte>(hash(0x6a2d, index) & 0xff);
}

std::string text(const Error& error) {
    return std::string(to_text(error.code)) + ": " + error.message;
}

std::size_t argument_bytes(const Plan& plan, Role role) {
    const Argument* argument = plan.argument(role);
    return argument != nullptr ? static_cast<std::size_t>(argument->bytes) : 0;
}

std::size_t count_bytes(const Plan& plan) {
    return plan.addressing == Addressing::device_address ? 8 : 4;
}

}  // namespace

std::vector<std::byte> poison(std::size_t bytes) {
    std::vector<std::byte> all(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        all[i] = static_cast<std::byte>(kPoison >> (8 * (i % 4)));
    return all;
}

GuardedBuffer::GuardedBuffer(TestDevice& device, std::size_t bytes, std::size_t extra_offset)
    : offset_(kGuardBytes + extra_offset), capacity_(bytes) {
    const std::size_t total = offset_ + bytes + kGuardBytes;
    auto memory = device.make_memory(total);
    if (!memory) {
        ADD_FAILURE() << "no memory of " << total << " bytes: " << text(memory.error());
        return;
    }
    memory_ = *std::move(memory);
    pattern_.resize(total);
    for (std::size_t i = 0; i < total; ++i) pattern_[i] = guard_byte(i);
}

void GuardedBuffer::reset(std::span<const std::byte> contents) {
    ASSERT_LE(contents.size(), capacity_);
    std::vector<std::byte> all = pattern_;
    std::copy(contents.begin(), contents.end(), all.begin() + static_cast<std::ptrdiff_t>(offset_));
    const auto done = memory_->write(0, all);
    ASSERT_TRUE(done) << text(done.error());
}

void GuardedBuffer::reset_poisoned(std::size_t bytes) { reset(poison(bytes)); }

std::vector<std::byte> GuardedBuffer::read(std::size_t bytes) const {
    std::vector<std::byte> contents(bytes);
    const auto done = memory_->read(offset_, contents);
    EXPECT_TRUE(done) << text(done.error());
    return contents;
}

void GuardedBuffer::expect_guards(std::size_t bytes, const char* name) const {
    std::vector<std::byte> all(pattern_.size());
    const auto done = memory_->read(0, all);
    ASSERT_TRUE(done) << text(done.error());
    const auto differs = [&](std::size_t begin, std::size_t end) {
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin);
        const auto last = all.begin() + static_cast<std::ptrdiff_t>(end);
        const auto found =
            std::mismatch(first, last, pattern_.begin() + static_cast<std::ptrdiff_t>(begin)).first;
        return found == last
                   ? std::optional<std::size_t>()
                   : std::optional<std::size_t>(static_cast<std::size_t>(found - all.begin()));
    };
    if (const auto at = differs(0, offset_)) {
        ADD_FAILURE() << name << ": written " << offset_ - *at << " bytes before its begin";
    }
    if (const auto at = differs(offset_ + bytes, all.size())) {
        ADD_FAILURE() << name << ": written " << *at - (offset_ + bytes) << " bytes past its end ("
                      << bytes << " bytes were bound)";
    }
}

PlanRunner::PlanRunner(TestDevice& device, Plan plan) : device_(&device), plan_(std::move(plan)) {
    expect_kernels_of_tier(plan_);
    auto executable = device.prepare(plan_);
    if (!executable) {
        ADD_FAILURE() << "not compiled: " << text(executable.error()) << "\n" << to_text(plan_);
        return;
    }
    const auto make = [&](Role role) {
        return GuardedBuffer(*device_, argument_bytes(plan_, role));
    };
    input_ = make(Role::input);
    output_ = make(Role::output);
    scratch_ = make(Role::scratch);
    values_ = make(Role::values);
    values_out_ = make(Role::values_out);
    flags_ = make(Role::flags);
    keys_ = make(Role::keys);
    rejected_ = make(Role::rejected);
    count_out_ = make(Role::count_out);
    count_ = GuardedBuffer(*device_, 8);
    if (!::testing::Test::HasFatalFailure()) executable_ = *std::move(executable);
}

bool PlanRunner::writes_offsets() const {
    const Argument* argument = plan_.argument(Role::offsets);
    return argument != nullptr && argument->access != Access::read;
}

std::vector<std::string> PlanRunner::expected_passes(bool count_in_buffer) const {
    std::vector<std::string> names;
    for (const Pass& pass : plan_.passes) {
        if (pass.when == When::always || count_in_buffer) names.push_back(pass.name);
    }
    return names;
}

std::size_t PlanRunner::bound_bytes(Role role, std::uint64_t count, bool count_in_buffer) const {
    if (plan_.argument(role) == nullptr) return 0;
    return count_in_buffer ? argument_bytes(plan_, role)
                           : static_cast<std::size_t>(bytes_needed(plan_, role, count));
}

std::vector<std::byte> PlanRunner::run(std::span<const std::byte> contents, std::uint64_t count,
                                       const RunOptions& options) {
    return run_with_values(contents, {}, count, options).output;
}

RunResult PlanRunner::run_with_values(std::span<const std::byte> keys,
                                      std::span<const std::byte> values, std::uint64_t count,
                                      const RunOptions& options) {
    if (!*this) return {};
    const auto bytes_of = [&](Role role) {
        return bound_bytes(role, count, options.count_in_buffer);
    };
    // No API binds nothing at all.
    const auto bound = [&](const GuardedBuffer& buffer, Role role, std::size_t least) {
        if (plan_.argument(role) == nullptr) return TestRange{};
        return buffer.range(std::max<std::size_t>(bytes_of(role), least));
    };
    const std::size_t output_bytes = bytes_of(Role::output);
    const std::size_t scratch_bytes = bytes_of(Role::scratch);
    for (const auto& [buffer, contents] :
         {std::pair{&input_, keys}, std::pair{&values_, values}, std::pair{&flags_, options.flags},
          std::pair{&keys_, options.keys}}) {
        if (contents.size() <= buffer->capacity()) continue;
        ADD_FAILURE() << "the memory has " << buffer->capacity() << " bytes, " << contents.size()
                      << " are given\n"
                      << to_text(plan_);
        return {};
    }
    if (plan_.argument(Role::input) != nullptr) {
        EXPECT_GE(std::max<std::size_t>(bytes_of(Role::input), 16), count * plan_.element_bytes);
    }
    if (options.in_place && (!plan_.in_place || output_bytes > keys.size())) {
        ADD_FAILURE() << "not in place: " << keys.size() << " bytes of input, " << output_bytes
                      << " of output\n"
                      << to_text(plan_);
        return {};
    }
    input_.reset(keys);
    values_.reset(values);
    flags_.reset(options.flags);
    keys_.reset(options.keys);
    rejected_.reset_poisoned(bytes_of(Role::rejected));
    count_out_.reset_poisoned(bytes_of(Role::count_out));
    output_.reset_poisoned(output_bytes);
    values_out_.reset_poisoned(bytes_of(Role::values_out));
    scratch_.reset_poisoned(scratch_bytes);
    const std::span<const std::byte> offsets = std::as_bytes(options.offsets);
    const bool makes_offsets = writes_offsets();
    const std::size_t offset_bytes =
        makes_offsets ? bytes_of(Role::offsets) : options.offsets.size_bytes();
    if (plan_.argument(Role::offsets) != nullptr) {
        offsets_ = GuardedBuffer(*device_, offset_bytes);
        if (makes_offsets)
            offsets_.reset_poisoned(offset_bytes);
        else
            offsets_.reset(offsets);
    }

    TestCount what = count;
    std::uint64_t found = count;  // by the use
    if (options.count_in_buffer) {
        const std::uint64_t value = options.count_value.value_or(count);
        std::vector<std::byte> bytes(count_bytes(plan_));
        std::memcpy(bytes.data(), &value, bytes.size());
        count_.reset(bytes);
        what = count_.range(bytes.size());
        found = std::min(value, plan_.max_count);
    }
    const TestRange input = bound(input_, Role::input, 16);
    const auto use = executable_->bind(
        {.input = input,
         .output = options.in_place ? input : bound(output_, Role::output, 4),
         .scratch = bound(scratch_, Role::scratch, 0),
         .values = bound(values_, Role::values, 16),
         .values_out = bound(values_out_, Role::values_out, 4),
         .offsets =
             plan_.argument(Role::offsets) == nullptr ? TestRange{} : offsets_.range(offset_bytes),
         .flags = bound(flags_, Role::flags, 16),
         .keys = bound(keys_, Role::keys, 16),
         .rejected = bound(rejected_, Role::rejected, 4),
         .count_out = bound(count_out_, Role::count_out, 4)},
        what);
    if (!use) {
        ADD_FAILURE() << "not bound: " << text(use.error());
        return {};
    }
    EXPECT_EQ((*use)->pass_names(), expected_passes(options.count_in_buffer));
    const auto done =
        (*use)->run({.secondary = options.secondary, .timestamps = options.timestamps});
    if (!done) {
        ADD_FAILURE() << "not run: " << text(done.error());
        return {};
    }
    count_dispatch(plan_.tier);

    input_.expect_guards(keys.size(), "input");
    values_.expect_guards(values.size(), "values");
    output_.expect_guards(output_bytes, "output");
    values_out_.expect_guards(bytes_of(Role::values_out), "values_out");
    scratch_.expect_guards(scratch_bytes, "scratch");
    for (const auto& [buffer, contents, name] :
         {std::tuple{&flags_, options.flags, "flags"}, std::tuple{&keys_, options.keys, "keys"}}) {
        buffer->expect_guards(contents.size(), name);
        EXPECT_TRUE(std::ranges::equal(buffer->read(contents.size()), contents))
            << "the " << name << " were written to";
    }
    rejected_.expect_guards(bytes_of(Role::rejected), "rejected");
    count_out_.expect_guards(bytes_of(Role::count_out), "count_out");
    if (options.count_in_buffer) count_.expect_guards(count_bytes(plan_), "count");
    std::vector<std::uint32_t> offsets_out;
    if (plan_.argument(Role::offsets) != nullptr) {
        offsets_.expect_guards(offset_bytes, "offsets");
        const std::vector<std::byte> after = offsets_.read(offset_bytes);
        if (makes_offsets) {
            offsets_out.resize(offset_bytes / 4);
            std::memcpy(offsets_out.data(), after.data(), offset_bytes);
        } else {
            EXPECT_TRUE(std::ranges::equal(after, offsets)) << "offsets were written to";
        }
    }
    if (options.in_place) {
        std::vector<std::byte> left = input_.read(keys.size());
        EXPECT_TRUE(
            std::ranges::equal(std::span(left).subspan(output_bytes), keys.subspan(output_bytes)))
            << "the input was written to past the output";
        left.resize(output_bytes);
        return {.output = std::move(left)};
    }
    expect_unchanged(Role::input, keys, found);
    expect_unchanged(Role::values, values, found);
    if (plan_.result == Role::input) {
        // The other buffers took what a pass wrote, as far as there are items.
        for (const auto& [buffer, role, size] :
             {std::tuple{&output_, Role::output, plan_.element_bytes},
              std::tuple{&values_out_, Role::values_out, plan_.value_bytes}}) {
            const std::vector<std::byte> left = buffer->read(bytes_of(role));
            const auto items =
                static_cast<std::size_t>(std::min<std::uint64_t>(found * size, left.size()));
            const std::vector<std::byte> untouched = poison(left.size());
            EXPECT_TRUE(std::ranges::equal(std::span(left).subspan(items),
                                           std::span(untouched).subspan(items)))
                << "the " << to_text(role) << " was written to past the items";
        }
        return {.output = input_.read(bytes_of(Role::input)),
                .values_out = values_.read(bytes_of(Role::values))};
    }
    std::optional<std::uint32_t> count_out;
    if (plan_.argument(Role::count_out) != nullptr) {
        const std::vector<std::byte> told = count_out_.read(sizeof(std::uint32_t));
        std::memcpy(&count_out.emplace(), told.data(), told.size());
    }
    return {.output = output_.read(output_bytes),
            .values_out = values_out_.read(bytes_of(Role::values_out)),
            .offsets = std::move(offsets_out),
            .rejected = rejected_.read(bytes_of(Role::rejected)),
            .count_out = count_out};
}

void PlanRunner::expect_unchanged(Role role, std::span<const std::byte> contents,
                                  std::uint64_t count) const {
    const Argument* argument = plan_.argument(role);
    if (argument == nullptr) return;
    const bool keys = role == Role::input;
    std::size_t may_change = 0;
    if (argument->access != Access::read) {
        const std::uint64_t bytes = count * (keys ? plan_.element_bytes : plan_.value_bytes);
        may_change = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, contents.size()));
    }
    const std::vector<std::byte> left = (keys ? input_ : values_).read(contents.size());
    EXPECT_TRUE(
        std::ranges::equal(std::span(left).subspan(may_change), contents.subspan(may_change)))
        << "the " << to_text(role) << " was written to"
        << (may_change != 0 ? " past the items" : "");
}

TestBuffers PlainUse::buffers(const Plan& plan) const {
    const auto range = [&](const std::unique_ptr<TestMemory>& memory, Role role) {
        if (plan.argument(role) == nullptr) return TestRange{};
        return TestRange{memory.get(), 0, argument_bytes(plan, role)};
    };
    return {.input = range(input, Role::input),
            .output = range(output, Role::output),
            .scratch = range(scratch, Role::scratch),
            .values = range(values, Role::values),
            .values_out = range(values_out, Role::values_out),
            .offsets = range(offsets, Role::offsets),
            .flags = range(flags, Role::flags),
            .keys = range(keys, Role::keys),
            .rejected = range(rejected, Role::rejected),
            .count_out = range(count_out, Role::count_out)};
}

TestRange PlainUse::count_range(const Plan& plan) const {
    return {count.get(), 0, count_bytes(plan)};
}

PlainUse make_plain_use(TestDevice& device, const Plan& plan) {
    const auto make = [&](std::size_t bytes) -> std::unique_ptr<TestMemory> {
        bytes = std::max<std::size_t>(bytes, 16);
        auto memory = device.make_memory(bytes);
        if (!memory) {
            ADD_FAILURE() << text(memory.error());
            return nullptr;
        }
        const auto done = (*memory)->write(0, poison(bytes));
        EXPECT_TRUE(done) << text(done.error());
        return *std::move(memory);
    };
    return {make(argument_bytes(plan, Role::input)),
            make(argument_bytes(plan, Role::output)),
            make(argument_bytes(plan, Role::scratch)),
            make(argument_bytes(plan, Role::values)),
            make(argument_bytes(plan, Role::values_out)),
            make(argument_bytes(plan, Role::offsets)),
            make(argument_bytes(plan, Role::flags)),
            make(argument_bytes(plan, Role::keys)),
            make(argument_bytes(plan, Role::rejected)),
            make(argument_bytes(plan, Role::count_out)),
            make(16)};
}

}  // namespace lanewise::test
