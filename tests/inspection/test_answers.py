import pytest

from advcli.inspection.answers import final_answer, most_given


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("#### 5", "5"),
        ("#### 4 no wait\n#### 5\nbye", "5"),
        (r"\boxed{4} then \boxed{x^{2}}", "x^{2}"),
        (r"\boxed{4} #### 5", "5"),
        (r"#### 5 \boxed{6}", "6"),
        (r"\boxed{4", ""),
        ("", ""),
        ("####", ""),
    ],
)
def test_the_final_answer(text, answer):
    assert final_answer(text) == answer


def test_the_answer_that_most_give():
    assert most_given(["a", "b", "b", "", ""]) == ("b", pytest.approx(2 / 3), 3)
    assert most_given([""]) == ("", 0.0, 0)
