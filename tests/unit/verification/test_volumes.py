"""A volume is held whole when its own numbering has no gap."""

import random

import pytest

from citewell.corpus.volumes import places_of
from citewell.model import Work
from citewell.verification import proceedings


def main_volume(works):
    return proceedings.main_volume(places_of(works))


def volume_is_whole(works, volume):
    return proceedings.volume_is_whole(places_of(works), volume)


def anthology(count, volume="2021.emnlp-main", booktitle="Conference on Rivers"):
    return [
        Work(id=f"acl:{volume}.{n}", title=f"Paper {n}", booktitle=booktitle)
        for n in range(1, count + 1)
    ]


def dois(count):
    return [
        Work(id=f"m:{n}", title=f"Paper {n}", doi=f"10.1109/cvpr46437.2021.{n:05}")
        for n in range(8, count + 8)
    ]


def paged(count, length=9):
    return [
        Work(id=f"m:{n}", title=f"Paper {n}", pages=f"{n * length + 1}-{(n + 1) * length}")
        for n in range(count)
    ]


@pytest.mark.parametrize("works", [anthology(80), dois(80), paged(80)])
def test_a_volume_without_a_gap_is_whole(works):
    volume = main_volume(works)
    assert volume.whole and volume.papers == 80


@pytest.mark.parametrize("works", [anthology(80), dois(80), paged(80, length=17)])
def test_papers_of_two_libraries_count_once(works):
    volume = main_volume(works * 2)
    assert volume.whole and volume.papers == 80


@pytest.mark.parametrize("make", [anthology, dois, paged])
def test_a_volume_of_which_a_fifth_is_missing_is_never_whole(make):
    for seed in range(20):
        kept = random.Random(seed).sample(make(120), 96)
        assert not main_volume(kept).whole


def test_demonstrations_and_workshops_are_no_papers_of_the_main_volume():
    demos = anthology(30, "2021.emnlp-demo")
    workshop = anthology(60, "2021.wmt-1", "Proceedings of the Workshop on Translation")
    volume = main_volume([*anthology(80), *demos, *workshop])
    assert (volume.papers, volume.whole) == (80, True)


def test_what_is_named_beside_the_meeting_makes_it_no_workshop():
    name = "Conference on Dams, DAM 2021, Symposium on Education, June 1-3, 2021"
    assert main_volume(anthology(80, booktitle=name)).papers == 80


def test_one_volume_of_the_anthology_is_looked_at_alone():
    works = [*anthology(60, "2021.findings-emnlp"), *anthology(10, "2021.findings-acl")]
    assert volume_is_whole(works, "2021.findings-emnlp")
    assert not volume_is_whole(works, "2021.findings-acl")
