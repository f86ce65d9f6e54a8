// A caller's types and operator, as item/custom.glsl takes them. This text is the one of an example, so
// that kernels are valid as they stand; lanewise::jit writes it anew from a CustomOperator:
//
//   Element, Value, Result          what is in the input; what is combined; what is in the output
//   LW_ELEMENT_WORDS, LW_VALUE_WORDS, LW_RESULT_WORDS      whole ones: 1 for a narrow element
//   LW_ORDERED                      1: the operator is not commutative
//   element_of_words, value_of_words, words_of_value, words_of_result_value
//   words_of_initial, words_of_nothing     a Value before the first item; a Result where there is none
//   operation_load, operation_combine, operation_store
#ifndef LW_ITEM_CUSTOM_OPERATION_GLSL
#define LW_ITEM_CUSTOM_OPERATION_GLSL

// Prologue: the assembler replaces this.
#define LW_ELEMENT_WORDS 1
#define LW_VALUE_WORDS 1
#define LW_RESULT_WORDS 1
#ifndef LW_ORDERED
#define LW_ORDERED 0
#endif
#define Element float
#define Value float
#define Result float
Element element_of_words(uint w[LW_ELEMENT_WORDS]) { return uintBitsToFloat(w[0]); }
Value value_of_words(uint w[LW_VALUE_WORDS]) { return uintBitsToFloat(w[0]); }
uint[LW_VALUE_WORDS] words_of_value(Value v) { return uint[](floatBitsToUint(v)); }
uint[LW_RESULT_WORDS] words_of_result_value(Result v) { return uint[](floatBitsToUint(v)); }
uint[LW_VALUE_WORDS] words_of_initial() { return uint[](0u); }
uint[LW_RESULT_WORDS] words_of_nothing() { return uint[](0u); }
Value operation_load(Element x, uint index) { return x * x; }
Value operation_combine(Value a, Value b) { return a + b; }
Result operation_store(Value a) { return sqrt(a); }
// End of the prologue.

#endif
