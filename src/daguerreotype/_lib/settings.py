"""A setting of an estimator and a method of the same name."""

from collections.abc import Callable
from functools import update_wrapper
from typing import Any


class SettingAndMethod:
    """A method whose name is also that of a setting, which is kept beside it in the object's own attributes.

    Looking the name up gives the method; setting it sets the setting, which is read from ``vars(self)``.

    >>> class Clock:
    ...     def __init__(self, alarm):
    ...         self.alarm = alarm
    ...     @SettingAndMethod
    ...     def alarm(self):
    ...         return f"ring at {vars(self)['alarm']}"
    >>> Clock(alarm=7).alarm()
    'ring at 7'
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method = method
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Callable[..., Any]:
        bound: Callable[..., Any] = self._method if instance is None else self._method.__get__(instance, owner)
        return bound

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self._name] = value
