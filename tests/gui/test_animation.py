"""Animations: size, number of frames and rate of every format, what the frames show, no file left after a cancel."""

import gc
import importlib.util
import os
import re
import signal
import subprocess
import threading

import numpy as np
import pytest
from PIL import Image
from PySide6.QtGui import QImage

from core.simulation import Experiment, Simulation
from gui.export.animation import (
    Cancelled,
    _check_whole,
    animation_steps,
    as_pillow,
    check_format,
    check_room,
    frames_of,
    write_animation,
)
from gui.export.beside import encode_beside
from gui.export.compose import letter
from gui.export.figure import FigureError
from gui.theme import THEMES
from gui.views.ledger import LedgerView
from gui.views.vectors import VectorsView
from main import main

VIEWS = [(LedgerView, {}), (VectorsView, {})]


@pytest.fixture
def simulation(qapp):
    made = Simulation(Experiment(optimizer="torch.optim.Adam(params, lr=0.05)", start=[-1.2, 1.0]))
    made.advance(12)
    return made


def frames(simulation, report=None, steps=range(0, 9, 4)):
    return frames_of(simulation, VIEWS, THEMES["light"], 401, 240, steps, report)


@pytest.mark.parametrize("ending", ["gif", "png", "webp"])
def test_pictures_have_the_frames_and_their_pixels(simulation, tmp_path, ending):
    path = tmp_path / f"run.{ending}"
    write_animation(frames(simulation), path, 10, "seed 0; αβ & 1")
    drawn = [np.asarray(as_pillow(image)) for image in frames(simulation)]
    with Image.open(path) as read:
        assert read.size == (401, 240) and read.n_frames == 3
        for k, right in enumerate(drawn):
            read.seek(k)
            read.load()
            if ending == "gif":  # at most 256 colours
                assert np.abs(np.asarray(read.convert("RGB")).astype(int) - right).mean() < 4
            else:
                np.testing.assert_array_equal(np.asarray(read.convert("RGB")), right)
            assert read.info["duration"] == 100
        held = {"gif": "comment", "png": "Description", "webp": "xmp"}[ending]
        text = read.info[held]
        assert "seed 0; αβ" in (text.decode() if isinstance(text, bytes) else text)
    assert not np.array_equal(drawn[0], drawn[1])


@pytest.mark.skipif(importlib.util.find_spec("imageio_ffmpeg") is None, reason="MP4 needs the extra 'video'")
def test_mp4_has_the_size_rate_and_number_of_frames(simulation, tmp_path):
    import imageio_ffmpeg

    path = tmp_path / "run.mp4"
    write_animation(frames(simulation), path, 12, "seed 0; αβ = 1")
    count, _ = imageio_ffmpeg.count_frames_and_secs(str(path))
    assert count == 3
    said = subprocess.run([imageio_ffmpeg.get_ffmpeg_exe(), "-i", str(path)], capture_output=True, text=True).stderr
    assert re.search(r"402x240.*\b12 fps", said)
    assert re.search(r"comment\s*: seed 0; αβ = 1", said)


@pytest.mark.parametrize("ending", ["gif", "mp4", "webp"])
def test_cancelling_and_failing_leave_no_file(simulation, tmp_path, ending):
    if ending == "mp4":
        pytest.importorskip("imageio_ffmpeg", reason="MP4 needs the extra 'video'")
    path = tmp_path / f"run.{ending}"
    with pytest.raises(Cancelled):
        write_animation(frames(simulation, lambda done, total: done < 2), path, 10)

    def broken():
        yield from frames(simulation, steps=[0, 1])
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        write_animation(broken(), path, 10)
    assert not [found for found in tmp_path.iterdir() if found.name != "settings"]


def test_the_run_itself_stays_where_it_is(simulation):
    before = simulation.history.count, simulation.digest
    assert len(list(frames(simulation))) == 3
    assert (simulation.history.count, simulation.digest) == before


def test_wrong_requests_say_what_is_possible(tmp_path, capsys):
    assert list(animation_steps(2, 11, 3)) == [2, 5, 8, 11]
    for wrong in ((5, 4, 1), (0, 4, 0), (-1, 4, 1), (0, 10**6, 1)):
        with pytest.raises(FigureError):
            animation_steps(*wrong)
    with pytest.raises(FigureError, match=r"\.webp"):
        check_format(tmp_path / "run.avi")
    check_room("run.mp4", 300, 1920, 1080)
    check_room("run.gif", 300, 1920, 1080)
    with pytest.raises(FigureError, match=r"3\.7 GB"):  # 600 frames of three bytes a pixel
        check_room("run.png", 600, 1920, 1080)
    assert main(["animate", "-o", str(tmp_path / "run.gif"), "--view", "nothing"]) == 2
    assert "surface, vectors" in capsys.readouterr().err


def test_letters_go_on_behind_z():
    assert [letter(k) for k in (0, 25, 26, 27, 52)] == ["a", "z", "aa", "ab", "ba"]


def test_the_encoder_works_beside_and_its_failure_is_told(qapp):
    seen, threads = [], set()

    def encode(items):
        threads.add(threading.get_ident())
        seen.extend(items)

    encode_beside(iter(range(50)), encode)
    assert seen == list(range(50)) and threads.isdisjoint({threading.get_ident()})
    assert gc.isenabled()

    def full(items):
        next(items)
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        encode_beside(iter(range(50)), full)

    def torn():
        yield 1
        raise Cancelled

    ended = []

    def patient(items):
        try:
            list(items)
        finally:
            ended.append(True)

    with pytest.raises(Cancelled):
        encode_beside(torn(), patient)
    assert ended and gc.isenabled()


def test_a_video_that_is_not_whole_is_told(tmp_path):
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="MP4 needs the extra 'video'")
    path = tmp_path / "cut.mp4"
    path.write_bytes(b"\0" * 4096)
    with pytest.raises(OSError, match="the video holds 0 of 3 frames; is the disk full"):
        _check_whole(imageio_ffmpeg, str(path), 3)


@pytest.mark.skipif(os.name == "nt", reason="a signal cannot be sent to oneself alone")
def test_ctrl_c_ends_the_command_between_two_frames(tmp_path, monkeypatch, capsys):
    drawn = []

    def first_then_ctrl_c(*_arguments):
        for done in range(1000):
            drawn.append(done)
            os.kill(os.getpid(), signal.SIGINT)
            if not _arguments[-1](done, 1000):
                raise Cancelled
            yield QImage(40, 40, QImage.Format.Format_RGB32)

    monkeypatch.setattr("gui.export.animation.frames_of", first_then_ctrl_c)
    before = signal.getsignal(signal.SIGINT)
    path = tmp_path / "run.gif"
    assert main(["animate", "--to", "999", "--every", "10", "-o", str(path)]) == 1
    assert capsys.readouterr().err == "stepscope: stopped\n"
    assert drawn == [0] and not path.exists() and signal.getsignal(signal.SIGINT) is before
