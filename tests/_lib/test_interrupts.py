"""Ctrl-C that is noted when it comes and raised where the work can end."""

import signal
import threading

import pytest

from daguerreotype._lib.interrupts import CancelToken, reraise_interrupts


def press():
    signal.raise_signal(signal.SIGINT)


@pytest.fixture(autouse=True)
def the_handler_is_python_s_own_again_in_the_end():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_cancellation_is_raised_once_by_the_next_check():
    token = CancelToken()
    token.check()
    token.cancel()
    with pytest.raises(KeyboardInterrupt):
        token.check()
    token.check()
    assert token.asked


def test_ctrl_c_is_raised_by_the_next_check_or_at_the_end_and_not_where_it_comes_unless_it_was_answered():
    token, done = CancelToken(), []
    with token.listening():
        press()
        done.append("on")
        with pytest.raises(KeyboardInterrupt):
            token.check()
    assert done == ["on"]
    with pytest.raises(KeyboardInterrupt), CancelToken().listening():
        press()
    token = CancelToken()
    with token.listening():
        assert not token.answered()
        press()
        assert token.answered()


def test_a_second_ctrl_c_raises_wherever_it_comes():
    token = CancelToken()
    with token.listening(), token.held():
        press()
        with pytest.raises(KeyboardInterrupt):
            press()
        token.answered()


def test_what_takes_long_ends_at_once_and_does_not_begin_after_ctrl_c():
    token = CancelToken()
    with token.listening(), pytest.raises(KeyboardInterrupt), token.at_once():
        press()
    token.check()
    token = CancelToken()
    with token.listening():
        press()
        with pytest.raises(KeyboardInterrupt), token.at_once():
            pytest.fail("it began")


def test_what_is_put_together_is_not_interrupted():
    token = CancelToken()
    with token.listening():
        with token.held(), token.at_once():
            press()
            token.check()
        with pytest.raises(KeyboardInterrupt):
            token.check()


def test_an_interrupt_that_compiled_code_turns_into_an_error_is_an_interrupt_and_other_errors_stay():
    def compiled():
        try:
            press()
        except KeyboardInterrupt as interrupt:
            raise SystemError("returned a result with an exception set") from interrupt

    def the_second_time():
        press()
        compiled()

    token = CancelToken()
    with pytest.raises(KeyboardInterrupt), token.listening(), token.at_once():
        compiled()
    with pytest.raises(KeyboardInterrupt), CancelToken().listening():
        the_second_time()
    token = CancelToken()
    with pytest.raises(ValueError, match="wrong"), token.listening(), token.at_once():
        raise ValueError("wrong")


def test_what_listens_around_hears_of_it_too_and_ends_after_what_is_inside():
    outer, inner = CancelToken(), CancelToken()
    with outer.listening(), outer.at_once():
        with inner.listening():
            press()
            assert inner.answered()  # and nothing was raised in here
        with pytest.raises(KeyboardInterrupt):
            outer.check()


def test_the_handler_of_somebody_else_stays_and_what_it_raises_in_compiled_code_is_an_interrupt():
    heard, token = [], CancelToken()
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        with token.listening():
            press()
        assert (heard, token.asked) == ([signal.SIGINT], False)
        with pytest.raises(KeyboardInterrupt), CancelToken().listening():
            raise SystemError("returned a result with an exception set") from KeyboardInterrupt()
        with pytest.raises(SystemError, match="another"), CancelToken().listening():
            raise SystemError("another")
    finally:
        ours = signal.signal(signal.SIGINT, before)
    with CancelToken().listening():
        signal.signal(signal.SIGINT, ours)
    assert signal.signal(signal.SIGINT, signal.default_int_handler) is ours  # it came in between


def test_another_thread_hears_nothing_and_can_be_cancelled():
    ended = []

    def work():
        token = CancelToken()
        with token.listening(), token.at_once():
            token.cancel()
            try:
                token.check()
            except KeyboardInterrupt:
                ended.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert ended == [True]


def test_an_interrupt_that_a_learner_took_for_an_early_end_is_raised_again():
    def learn():
        token = CancelToken()
        with token.listening():
            press()
            return token.answered()

    with pytest.raises(KeyboardInterrupt), reraise_interrupts():
        assert learn()
