// Names and one-line texts of what the simulator reports.

#include <fmt/format.h>

#include "lanewise/simulator.hpp"
#include "src/core/names.hpp"

namespace lanewise::simulator {
namespace {

constexpr lanewise::detail::Names<FaultKind, 13> kFaultNames{{
    {FaultKind::out_of_bounds, "out_of_bounds"},
    {FaultKind::misaligned, "misaligned"},
    {FaultKind::uninitialized_read, "uninitialized_read"},
    {FaultKind::race, "race"},
    {FaultKind::divergent_barrier, "divergent_barrier"},
    {FaultKind::divergent_subgroup_operation, "divergent_subgroup_operation"},
    {FaultKind::inactive_lane, "inactive_lane"},
    {FaultKind::no_progress, "no_progress"},
    {FaultKind::division_by_zero, "division_by_zero"},
    {FaultKind::shift_out_of_range, "shift_out_of_range"},
    {FaultKind::unreachable, "unreachable"},
    {FaultKind::write_to_read_only, "write_to_read_only"},
    {FaultKind::different_results, "different_results"},
}};
constexpr lanewise::detail::Names<LaneOrder, 4> kLaneOrderNames{
    {{LaneOrder::linear, "linear"},
     {LaneOrder::reversed, "reversed"},
     {LaneOrder::column_wise, "column_wise"},
     {LaneOrder::random, "random"}}};
constexpr lanewise::detail::Names<Order, 3> kOrderNames{
    {{Order::in_order, "in_order"}, {Order::reversed, "reversed"}, {Order::random, "random"}}};
constexpr lanewise::detail::Names<Schedule, 4> kScheduleNames{
    {{Schedule::in_order, "in_order"},
     {Schedule::reversed, "reversed"},
     {Schedule::round_robin, "round_robin"},
     {Schedule::random, "random"}}};
constexpr lanewise::detail::Names<OutOfBounds, 3> kOutOfBoundsNames{
    {{OutOfBounds::zero, "zero"}, {OutOfBounds::clamp, "clamp"}, {OutOfBounds::trap, "trap"}}};
constexpr lanewise::detail::Names<Reconvergence, 3> kReconvergenceNames{
    {{Reconvergence::maximal, "maximal"},
     {Reconvergence::subgroup_uniform, "subgroup_uniform"},
     {Reconvergence::weakest, "weakest"}}};

std::string place(const SourceLine& at) {
    if (at.line != 0) return fmt::format("{}:{}", at.file, at.line);
    return fmt::format("{}() {}", at.function, at.instruction);
}

}  // namespace

const char* to_text(FaultKind kind) { return lanewise::detail::name_of(kFaultNames, kind); }
const char* to_text(LaneOrder order) { return lanewise::detail::name_of(kLaneOrderNames, order); }
const char* to_text(Order order) { return lanewise::detail::name_of(kOrderNames, order); }
const char* to_text(Schedule schedule) {
    return lanewise::detail::name_of(kScheduleNames, schedule);
}
const char* to_text(OutOfBounds behaviour) {
    return lanewise::detail::name_of(kOutOfBoundsNames, behaviour);
}
const char* to_text(Reconvergence level) {
    return lanewise::detail::name_of(kReconvergenceNames, level);
}

std::string to_text(const Fault& fault) {
    std::string text = fault.at.instruction.empty()
                           ? std::string(to_text(fault.kind))
                           : fmt::format("{}: {}", place(fault.at), to_text(fault.kind));
    text += fmt::format(": {}", fault.message);
    if (!fault.other.instruction.empty()) text += fmt::format(" [{}]", place(fault.other));
    if (!fault.at.instruction.empty()) {
        text += fmt::format(
            " (pass {}, workgroup {},{},{}, invocation {},{},{}, subgroup {}, lane {}", fault.pass,
            fault.workgroup[0], fault.workgroup[1], fault.workgroup[2], fault.local_invocation[0],
            fault.local_invocation[1], fault.local_invocation[2], fault.subgroup, fault.lane);
        if (fault.times > 1) text += fmt::format("; {} times", fault.times);
        text += ')';
    }
    return text;
}

std::string to_text(const Machine& machine) {
    std::string text = fmt::format("subgroups of {}", machine.subgroup_size);
    if (machine.random_populations) {
        text += " with random populations";
    } else if (!machine.populations.empty()) {
        text += " populated";
        for (const std::uint32_t n : machine.populations) text += fmt::format(" {}", n);
    }
    if (machine.scattered_lanes) text += " scattered";
    text += fmt::format(", lanes {}, subgroup ids {}, workgroups {}, subgroups {}",
                        to_text(machine.lane_order), to_text(machine.subgroup_ids),
                        to_text(machine.workgroups), to_text(machine.subgroups));
    if (machine.workgroups == Schedule::round_robin || machine.workgroups == Schedule::random ||
        machine.subgroups == Schedule::round_robin || machine.subgroups == Schedule::random)
        text += fmt::format(" (quantum {})", machine.quantum);
    if (!machine.starved.empty()) {
        text += ", starved";
        for (const std::uint32_t n : machine.starved) text += fmt::format(" {}", n);
        if (machine.starved_for_ever) text += " for ever";
    }
    text += fmt::format(", reconvergence {}, out of bounds {}", to_text(machine.reconvergence),
                        to_text(machine.out_of_bounds));
    if (machine.reported_subgroup_size != 0)
        text += fmt::format(", reporting subgroups of {}", machine.reported_subgroup_size);
    if (machine.running_lanes != 0)
        text += fmt::format(", only lanes below {} run", machine.running_lanes);
    return text + fmt::format(", seed {}", machine.seed);
}

}  // namespace lanewise::simulator
