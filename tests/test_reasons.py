"""Every code of a reason has its words, so that a person who meets it knows what to do."""

from typing import get_args

from glusterlab.reasons import FAILED_CODES, MEANINGS, ReasonCode


def test_every_code_has_a_sentence_and_advice_of_its_own() -> None:
    assert set(MEANINGS) == set(get_args(ReasonCode)) >= FAILED_CODES
    sentences = [meaning.sentence for meaning in MEANINGS.values()]
    advice = [meaning.advice for meaning in MEANINGS.values()]
    assert len({*sentences, *advice}) == 2 * len(MEANINGS)
    for text in (*sentences, *advice):
        assert text.endswith(".")
        assert text[0].isupper()
        assert "\n" not in text
