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


def test_a_cancellation_is_raised_once():
    token = CancelToken()
    token.check()
    token.cancel()
    with pytest.raises(KeyboardInterrupt):
        token.check()
    token.check()
    assert token.asked


def test_ctrl_c_is_raised_by_the_next_check_and_not_where_it_comes():
    token, done = CancelToken(), []
    with token.listening():
        press()
        done.append("on")
        with pytest.raises(KeyboardInterrupt):
            token.check()
    assert done == ["on"]


def test_ctrl_c_that_nobody_checks_for_is_raised_at_the_end():
    token = CancelToken()
    with pytest.raises(KeyboardInterrupt), token.listening():
        press()


def test_ctrl_c_that_was_answered_is_not_raised():
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


def test_what_takes_long_ends_at_once():
    token = CancelToken()
    with token.listening(), pytest.raises(KeyboardInterrupt), token.at_once():
        press()
    token.check()


def test_what_takes_long_does_not_begin_after_ctrl_c():
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


@pytest.mark.parametrize("moment", ["at once", "the second time"])
def test_an_interrupt_that_compiled_code_turns_into_an_error_is_an_interrupt(moment):
    token = CancelToken()

    def compiled():
        try:
            press()
        except KeyboardInterrupt as interrupt:
            raise SystemError("returned a result with an exception set") from interrupt

    def listen():
        with token.listening():
            if moment == "at once":
                with token.at_once():
                    compiled()
            else:
                press()
                compiled()

    with pytest.raises(KeyboardInterrupt):
        listen()


def test_an_error_without_ctrl_c_stays_what_it_is():
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


def test_the_handler_of_somebody_else_stays():
    heard = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        token = CancelToken()
        with token.listening():
            press()
        assert heard == [signal.SIGINT]
        assert not token.asked
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_the_handler_of_somebody_else_raises_in_compiled_code_is_an_interrupt():
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        with pytest.raises(KeyboardInterrupt), CancelToken().listening():
            raise SystemError("returned a result with an exception set") from KeyboardInterrupt()
        with pytest.raises(SystemError, match="another"), CancelToken().listening():
            raise SystemError("another")
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_handler_that_came_in_between_stays():
    def other(number, frame):
        return None

    with CancelToken().listening():
        signal.signal(signal.SIGINT, other)
    assert signal.signal(signal.SIGINT, signal.default_int_handler) is other


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
