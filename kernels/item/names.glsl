// The numbers that plans use for operators and element kinds.
#ifndef LW_ITEM_NAMES_GLSL
#define LW_ITEM_NAMES_GLSL

// lanewise::Operator, in its order.
const uint kSum = 0u;
const uint kProduct = 1u;
const uint kMin = 2u;
const uint kMax = 3u;
const uint kAnd = 4u;
const uint kOr = 5u;
const uint kXor = 6u;
const uint kArgmin = 7u;
const uint kArgmax = 8u;

const uint kUnsigned = 0u;
const uint kSigned = 1u;
const uint kFloat = 2u;

#endif
