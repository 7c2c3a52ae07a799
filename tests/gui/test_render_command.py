"""'stepscope render': sizes on paper and in pixels, several views, themes, formats, and what wrong values are told."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from PIL import Image

from gui.theme import THEMES
from main import main

RUN = ["--optimizer", "torch.optim.Adam(params, lr=0.05)", "--start", "-1.2,1", "--step", "5"]


def test_a_composed_figure_on_paper_in_several_formats(qapp, tmp_path, capsys):
    outs = [tmp_path / f"f.{ending}" for ending in ("png", "svg", "pdf", "tiff")]
    files = [word for out in outs for word in ("-o", str(out))]
    assert main(["render", "--view", "vectors,ledger", "--preset", "one-column", "--dpi", "150", *files, *RUN]) == 0
    assert all(str(out) in capsys.readouterr().out or out.exists() for out in outs)
    for picture in (outs[0], outs[3]):
        with Image.open(picture) as read:
            assert read.size == (round(89 / 25.4 * 150), round(65 / 25.4 * 150))
            assert read.info["dpi"] == pytest.approx((150, 150), abs=0.1)
    with Image.open(outs[0]) as read:
        assert "torch.optim.Adam(params, lr=0.05); seed 0; step 5;" in read.info["Description"]
    root = ET.parse(outs[1]).getroot()
    assert (root.get("width"), root.get("height")) == ("89mm", "65mm")
    texts = [(element.text or "").strip() for element in root.iter() if element.tag.endswith("text")]
    assert [text for text in texts if text in ("a", "b", "c")] == ["a", "b"]
    assert outs[2].read_bytes().startswith(b"%PDF")


def test_pixels_theme_and_no_ground(qapp, tmp_path):
    common = ["--view", "vectors", "--width", "300", "--height", "200", *RUN]
    assert main(["render", "-o", str(tmp_path / "d.png"), "--theme", "dark", "--scale", "2", *common]) == 0
    assert main(["render", "-o", str(tmp_path / "t.png"), "--transparent", *common]) == 0
    with Image.open(tmp_path / "d.png") as read:
        assert read.size == (600, 400)
        ground = tuple(int(THEMES["dark"].card[k : k + 2], 16) for k in (1, 3, 5))
        assert read.convert("RGB").getpixel((1, 1)) == ground
    with Image.open(tmp_path / "t.png") as read:
        assert np.asarray(read.convert("RGBA"))[..., 3].min() == 0


def test_the_run_of_a_trace_is_drawn_when_it_comes_out_the_same(qapp, tmp_path, capsys):
    trace, own, again = (str(tmp_path / name) for name in ("t.npz", "a.png", "b.png"))
    assert main(["run", "--steps", "6", "--out", trace, *RUN[:4]]) == 0
    common = ["--view", "ledger", "--width", "300", "--height", "200", "--step", "5"]
    assert main(["render", trace, "-o", again, *common]) == 0
    assert main(["render", "-o", own, *common, *RUN[:4]]) == 0
    with Image.open(own) as first, Image.open(again) as second:
        np.testing.assert_array_equal(np.asarray(first), np.asarray(second))
    with np.load(trace) as read:
        arrays = dict(read)
    key = next(name for name in arrays if name.startswith("w.p"))
    arrays[key] = arrays[key] + 1e-12
    np.savez(trace, **arrays)
    assert main(["render", trace, "-o", again, *common]) == 2
    assert "does not come out the same" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--view", "nothing"], "no view 'nothing'; give one or more of surface"),
        (["--view", ","], "no view is named"),
        (["--view", "ledger", "--preset", "three"], "there are one-column, two-columns, slide, poster"),
        (["--view", "ledger", "--size", "89"], "width x height in mm, each from 20 to 2000"),
        (["--view", "ledger", "--size", "1.2.3x5"], "width x height in mm"),
        (["--view", "ledger", "--size", "89x65", "--preset", "slide"], "give one of the two"),
        (["--view", "ledger", "--size", "89x65", "--width", "300"], "--width counts pixels"),
        (["--view", "ledger", "--dpi", "300"], "--dpi goes with a size on paper"),
        (["--view", "ledger", "--size", "89x65", "--dpi", "5"], "from 20 to 2400"),
        (["--view", "ledger", "--size", "2000x2000", "--dpi", "2400"], "choose a smaller size"),
        (["--view", "ledger", "--width", "0"], "100 to 20000 pixels"),
        (["--view", "ledger", "--scale", "nan"], "above 0 and at most 16"),
    ],
)
def test_wrong_values_say_what_is_possible(qapp, tmp_path, capsys, options, said):
    out = tmp_path / "f.png"
    assert main(["render", "-o", str(out), *options, *RUN]) == 2
    assert said in capsys.readouterr().err
    assert not out.exists()


def test_wrong_places_and_endings_are_told_before_anything_runs(tmp_path, capsys):
    for name, said in (("f.bmp", "ends in .png, .svg, .pdf or .tiff"), ("no/f.png", "does not exist")):
        assert main(["render", "--view", "ledger", "-o", str(tmp_path / name), *RUN]) == 2
        assert said in capsys.readouterr().err
