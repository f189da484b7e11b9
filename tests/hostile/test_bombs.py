import shutil

import pytest
from hostile.bombs import BOMBS, run
from support.cases import slowly, thinned

SECONDS, MEGABYTES = 30, 3000
GZIP = [bomb for bomb in BOMBS if not bomb.costly and bomb.name.startswith("gzip")]
"""They write gigabytes before they are read."""
OTHERS = [bomb for bomb in BOMBS if not bomb.costly and bomb not in GZIP]


@pytest.mark.parametrize("bomb", [*thinned(OTHERS, len(OTHERS)), *slowly(*GZIP)], ids=lambda bomb: bomb.name)
def test_a_bomb_is_refused_in_time_and_in_little_memory(tmp_path, bomb):
    ended = run(bomb, tmp_path / "desk")
    lines = ended.err.splitlines()
    assert (ended.code, len(lines) <= 2) == (bomb.code, True), ended
    assert bomb.says in ended.err
    assert max(map(len, lines)) <= 400
    assert ended.worked < SECONDS, ended
    assert ended.peak < MEGABYTES, ended
    assert not (tmp_path / "desk" / "out").exists()
    shutil.rmtree(tmp_path / "desk")
