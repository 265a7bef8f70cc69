"""Values and names in messages and on a screen: one line each, and nothing that a terminal obeys."""

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from daguerreotype._lib.checks import check_count, check_flag, check_positive
from daguerreotype._lib.labels import WIDEST, printable, shown
from daguerreotype.cli.terminal import make_screen, make_table, say, show_facts


def test_a_value_in_a_message_is_one_line_of_bounded_length():
    for value in (pd.DataFrame(np.zeros((30, 3))), np.zeros((9, 9)), "a\nb" * 100, list(range(999))):
        assert "\n" not in shown(value)
        assert len(shown(value)) <= WIDEST + 3
        for check in (check_count, check_positive, check_flag):
            with pytest.raises((ValueError, TypeError), match="patience must be") as caught:
                check(value, "patience")
            assert "\n" not in str(caught.value)


EVIL = "a\x1b]0;title\x07\x9b31m\u202eb\u2066\r\x08"


@given(st.text())
def test_nothing_is_left_that_a_terminal_obeys(text):
    shown = printable(text)
    assert not any(ord(letter) < 32 and letter != "\n" for letter in shown)
    assert not any(letter in "\x7f\x9b\x9d\u061c\u200e\u200f\u2028\u2029" for letter in shown)
    assert not any("\u202a" <= letter <= "\u202e" or "\u2066" <= letter <= "\u2069" for letter in shown)


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_ordinary_text_stays_as_it_is(text):
    assert printable(text) == text


def test_whatever_is_printed_on_a_screen_is_spelled_out():
    console = make_screen(Console(file=io.StringIO(), force_terminal=True, color_system=None, width=200))
    table = make_table("cause", EVIL)
    table.add_row(Text(EVIL), Text("b"))
    console.print(table)
    say(console, EVIL)
    show_facts(console, {EVIL: [Text(EVIL)]})
    shown = console.file.getvalue()
    assert shown.count(r"\x1b]0;title") == 5
    assert "\x1b" not in shown
    assert "\u202e" not in shown
