"""Results out of the service's own encodings: typed values, plain lists, tensors."""

from __future__ import annotations

import base64
import json
import struct
import zlib

import pytest

from bascule.managers.quantum.arrays import Unreadable, array_in, flat, packed, saved, shape_of, unpacked
from bascule.managers.quantum.results import decoded
from tests.managers.quantum.worlds import packed as bytes_packed


def typed(kind, value):
    return {"__type__": kind, "__value__": value}


def primitive(fields):
    data = typed("DataBin", {"field_names": list(fields), "shape": [], "fields": fields})
    pub = typed("PubResult", {"data": data, "metadata": {}})
    return json.dumps(typed("PrimitiveResult", {"pub_results": [pub], "metadata": {}})).encode()


def doubles(values, shape):
    return typed("ndarray", bytes_packed(struct.pack(f"<{len(values)}d", *values), shape, "<f8"))


class TestDecoding:
    def test_expectation_values_are_numbers_or_lists_of_them(self):
        [line] = decoded(primitive({"evs": doubles([0.5], ()), "stds": doubles([0.1, 0.2, 0.3, 0.4], (2, 2))})).lines

        assert {"pub": 0, "evs": 0.5, "stds": [[0.1, 0.2], [0.3, 0.4]]} == line

    def test_counts_of_several_points_are_apart(self):
        words = bytes([0, 0, 3, 1, 1, 1])
        array = typed("ndarray", bytes_packed(words, (2, 3, 1)))

        made = decoded(primitive({"c": typed("BitArray", {"array": array, "num_bits": 2})}))

        assert [{"00": 2, "11": 1}, {"01": 3}] == made.lines[0]["c"]

    def test_words_of_more_than_eight_bits_have_their_first_byte_in_front(self):
        array = typed("ndarray", bytes_packed(bytes([1, 2]), (1, 2)))

        made = decoded(primitive({"c": typed("BitArray", {"array": array, "num_bits": 9})}))

        assert {"100000010": 1} == made.lines[0]["c"]

    def test_plain_samples_are_counted(self):
        result = {"results": [{"data": {"c": {"samples": ["0x3", "0x0", "0x3"], "num_bits": 2}}, "metadata": {}}]}

        assert {"00": 1, "11": 2} == decoded(json.dumps(result).encode()).lines[0]["c"]

    def test_a_tensor_of_bits_is_counted_with_its_first_bit_last(self):
        bits = [1, 0, 0, 1, 1, 1]  # three shots of two bits
        data = bytes([sum(bit << n for n, bit in enumerate(bits))])
        tensor = {"data": base64.b64encode(zlib.compress(data)).decode(), "shape": [3, 2], "dtype": "bool"}
        result = {"schema_version": "v2.0", "data": [{"results": {"c": tensor}, "metadata": {}}]}

        made = decoded(json.dumps(result).encode())

        assert {"01": 1, "10": 1, "11": 1} == made.lines[0]["c"]
        assert (3, 2) == array_in(made.arrays["pub0-c.npy"]).shape

    def test_many_outcomes_are_in_a_file_and_the_most_frequent_in_the_line(self):
        words = b"".join(struct.pack(">H", n) for n in range(1500)) + struct.pack(">H", 7) * 10
        array = typed("ndarray", bytes_packed(words, (1510, 2)))

        made = decoded(primitive({"c": typed("BitArray", {"array": array, "num_bits": 11})}))

        assert 1000 == len(made.lines[0]["c"])
        assert 11 == made.lines[0]["c"]["00000000111"]
        assert 1500 == len(made.counts[0]["c"])

    def test_many_values_are_named_by_their_file(self):
        made = decoded(primitive({"evs": doubles([0.0] * 2000, (2000,))}))

        assert {"file": "pub0-evs.npy", "shape": [2000]} == made.lines[0]["evs"]
        assert (2000,) == array_in(made.arrays["pub0-evs.npy"]).shape

    def test_a_registers_name_leads_to_no_other_folder(self):
        made = decoded(primitive({"../../etc/x": doubles([1.0], ())}))

        assert ["pub0-______etc_x.npy"] == list(made.arrays)

    @pytest.mark.parametrize(
        "text", [b"", b"[]", b"nope", b'{"results": 3}', b'{"results": [{}]}', b'{"__type__": "Result"}', b"\xff\xfe"]
    )
    def test_another_form_is_told(self, text):
        with pytest.raises(Unreadable):
            decoded(text)


class TestArrays:
    def test_what_we_pack_is_read_again(self):
        nested = [[0.5, 1.0, -2.0], [3.0, 4.0, 5.5]]

        array = unpacked(packed(flat(nested), shape_of(nested))["__value__"])

        assert nested == array.nested()
        assert array.file == saved(flat(nested), (2, 3))

    def test_a_small_text_that_unpacks_to_very_much_is_refused(self, monkeypatch):
        monkeypatch.setattr("bascule.managers.quantum.arrays.LARGEST", 1 << 20)
        bomb = base64.b64encode(zlib.compress(b"\0" * (2 << 20))).decode()

        with pytest.raises(Unreadable, match="unpacks to more"):
            unpacked(bomb)

    @pytest.mark.parametrize("nested", [["a"], [True], [[1], 2], [None], {"a": 1}])
    def test_what_has_no_shape_is_told(self, nested):
        with pytest.raises(Unreadable):
            shape_of(nested)
