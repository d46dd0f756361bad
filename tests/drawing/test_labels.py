from __future__ import annotations

from pairdp.drawing.labels import place_labels


def test_a_name_covers_no_other_line() -> None:
    flat = [(50.0, 100.0), (400.0, 100.0)]
    near = [(50.0, 88.0), (400.0, 88.0)]
    alone = place_labels(["name"], [flat], 40, 20, 260)
    assert alone[0].foot < 100
    assert place_labels(["name", None], [flat, near], 40, 20, 260)[0].foot > 100
    below = [(50.0, 112.0), (400.0, 112.0)]
    assert place_labels(["name", None, None], [flat, near, below], 40, 20, 260) == {}
    both = place_labels(["one", "other"], [flat, [(50.0, 104.0), (400.0, 104.0)]], 40, 20, 260)
    assert both[0].foot < 100 < both[1].foot
