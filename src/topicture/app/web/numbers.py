"""Numbers in addresses: of as many digits as a catalog can count to; a longer one is the address of nothing."""

from starlette.convertors import Convertor, register_url_convertor

__all__ = ["NUMBER", "NumberInAddress"]

NUMBER = "number"
"""What `{id:number}` in the path of a route stands for."""


class NumberInAddress(Convertor[int]):
    """Like Starlette's `int`, which fails on thousands of digits, and lets through what SQLite can't hold."""

    regex = "[0-9]{1,15}"

    def convert(self, value: str) -> int:
        return int(value)

    def to_string(self, value: int) -> str:
        return str(value)


register_url_convertor(NUMBER, NumberInAddress())
