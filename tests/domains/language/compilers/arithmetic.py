"""Programs of arithmetic, which several compilers compile."""

import operator

from bostruct import language as lang

SIGNS = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}


def scaled(by):
    return lang.function_module("Scale", lambda values, x: values["by"] * x, {"by": by})


def combined(sign):
    return lang.function_module("Combine", lambda values, a, b: SIGNS[values["sign"]](a, b), {"sign": sign}, ["a", "b"])


def expression():
    """x times one of three numbers, combined with another such product, up to three times in a row."""
    h_sign = lang.D(list(SIGNS))

    def step():
        inputs, outputs = lang.identity()
        one, two, both = scaled(lang.D([2, 3, 5])), scaled(lang.D([7, 11])), combined(h_sign)
        one[0]["in"].connect(outputs["out"])
        two[0]["in"].connect(outputs["out"])
        both[0]["a"].connect(one[1]["out"])
        both[0]["b"].connect(two[1]["out"])
        return inputs, both[1]

    return lang.siso_repeat(step, lang.D([1, 2, 3]))
