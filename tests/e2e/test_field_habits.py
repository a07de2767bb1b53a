"""References as INSPIRE, ADS, PubMed, SSRN and RePEc export them, and the names they have there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.e2e.conftest import Run, citewell_in

RECORDS = """
@article{waves, title = {Observation of Slow Waves from a Merger of Two Dark Rivers}, year = 2016,
  author = {{The ELDER Collaboration}}, journal = {Physical Review Letters}, volume = 116,
  pages = {061102}, doi = {10.5555/prl.116,10.5555/prl.117},
  adsurl = {https://ui.adsabs.harvard.edu/abs/2016PhRvL.116f1102E}}
@article{bark, title = {Differential Growth of Bark in Count Data}, year = 2010,
  author = {Anderson, Simone and Hubert, Wolf}, volume = 107, pages = {9440--9445},
  journal = {Proceedings of the National Academy of Sciences of the United States of America},
  doi = {10.5555/pnas.9440}, url = {https://doi.org/10.5555/pnas.9440}, pmid = {20979621}}
@article{sap, title = {Sap and the Rate of Discovery: A Practical Approach}, year = 1995,
  author = {Benjamin, Yara and Hochwald, Yann}, journal = {American Economic Review},
  volume = 57, pages = {289--300}, handle = {RePEc:aea:aecrev:v:57:y:1995:p:289-300}}
@article{resin, title = {Pricing and Hedging Resin Derivatives}, year = 1994,
  author = {Hutch, James M. and Loeb, Andrea}, journal = {Journal of Finance}, volume = 49,
  pages = {851--889}, doi = {10.5555/jf.851}}
@article{light, title = {Light Pressure on Falling Leaves}, year = 2013,
  author = {Forman, Dana and Hogan, Dave W.}, volume = 125, pages = {306},
  journal = {Publications of the Astronomical Society of the Pacific}}
"""
WAVES = "title = {{Observation of Slow Waves from a Merger of Two Dark Rivers}}, year = 2016"
BARK = "title = {Differential Growth of Bark in Count Data.}, year = {2010}, pages = {9440-5}"
SAP = "title = {Sap and the Rate of Discovery: A Practical Approach}, year = {1995}, volume = {57}"
RESIN = "title = {Pricing and Hedging Resin Derivatives}, year = {1994}"
LIGHT = 'title = "{Light Pressure on Falling Leaves}", year = 2013, month = mar, pages = {306}'
EXPORTS = rf"""
@article{{ELDER:2016aoc, author = "Abel, B. P. and others", collaboration = "ELDER", {WAVES},
  journal = "Phys. Rev. Lett.", volume = "116", pages = "061102", doi = "10.5555/PRL.116",
  eprint = "1602.03837", archivePrefix = "arXiv", primaryClass = "gr-qc"}}
@article{{Abel:2016tfa, author = "{{ELDER Collaboration}} and Abel, B. P. and others", {WAVES},
  journal = "Phys.Rev.Lett.", doi = "10.5555/prl.116, 10.5555/prl.117", eprint = "hep-th/9711200",
  SLACcitation = "%%CITATION = HEP-TH/9711200;%%"}}
@ARTICLE{{2016PhRvL.116f1102E, author = {{{{Abel}}, B.~P. and {{Abt}}, R. and {{ELDER Collaboration}}}},
  {WAVES}, journal = {{\prl}}, eid = {{061102}}, adsnote = {{Provided by ADS}},
  adsurl = {{http://adsabs.harvard.edu/abs/2016PhRvL.116f1102E}}}}
@ARTICLE{{2013PASP..125..306F, author = {{{{Forman}}, Dana and {{Hogan}}, David W.}}, {LIGHT},
  journal = {{\pasp}}, adsurl = {{https://ui.adsabs.harvard.edu/abs/2013PASP..125..306F}}}}
@article{{pmid20979621, author = {{Anderson, S and Hubert, W}}, {BARK}, journal = {{Proc Natl Acad
  Sci U S A}}, pmid = {{20979621}}, pmcid = {{PMC3218662}}, volume = {{107}}}}
@Article{{20979621, Author = "Anderson, S.  and Hubert, W. ", {BARK}, Journal = "Proc. Natl. Acad.
  Sci. U.S.A.", Note = {{[PubMed:\href{{https://www.ncbi.nlm.nih.gov/pubmed/20979621}}{{20979621}}]}}}}
@article{{PMC3218662, author = {{Anderson, S and Hubert, W}}, {BARK}, journal = {{PNAS}},
  eprint = {{20979621}}, eprinttype = {{pubmed}}}}
@article{{ads:bark, author = {{Anderson, S. and Hubert, W.}}, {BARK},
  journal = {{Proceedings of the National Academy of Science}}}}
@article{{RePEc:aea:aecrev:v:57, author = {{Benjamin, Y. and Hochwald, Y.}}, {SAP},
  journal = {{Am. Econ. Rev.}}, handle = {{RePEc:aea:aecrev:v:57:y:1995:p:289-300}}}}
@article{{hutch1994, author = {{Hutch, James M and Loeb, Andrea}}, {RESIN}, doi = {{10.2139/ssrn.6215}},
  journal = {{SSRN Electronic Journal}}, url = {{https://ssrn.com/abstract=6215}}}}
@article{{10.2307/851, author = {{James M. Hutch and Andrea Loeb}}, {RESIN}, journal = {{J. Finance}}}}
"""
PRINTED = """\
[1] ELDER Collaboration, B. P. Abel et al., Observation of Slow Waves from a Merger of Two Dark
Rivers, Phys. Rev. Lett. 116, 061102 (2016).
[2] B. P. Abel et al. (ELDER Collaboration and KIN Collaboration), Observation of Slow Waves from a
Merger of Two Dark Rivers, Phys. Rev. Lett. 116 (2016) 061102.
[3] Anderson S, Hubert W. Differential Growth of Bark in Count Data. Proc Natl Acad Sci U S A.
2010;107:9440-5. PMID: 20979621; PMCID: PMC3218662.
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    from tests.e2e.conftest import clean_env

    folder = tmp_path_factory.mktemp("fields")
    env = clean_env(folder) | {"CITEWELL_LIBRARY_PATH": str(folder / "libraries")}
    (folder / "records.bib").write_text(RECORDS, encoding="utf-8")
    (folder / "exports.bib").write_text(EXPORTS, encoding="utf-8")
    (folder / "printed.txt").write_text(PRINTED, encoding="utf-8")
    citewell = citewell_in(folder, env)
    assert citewell("library", "add", "records.bib").returncode == 0
    return citewell


@pytest.mark.parametrize("path, number", [("exports.bib", 11), ("printed.txt", 3)])
def test_a_true_reference_in_the_form_of_its_field_is_verified(
    run: Run, path: str, number: int
) -> None:
    done = run("check", "--format", "json", path)
    checks = json.loads(done.stdout)["checks"]
    assert [one["verdict"] for one in checks] == ["verified"] * number
    assert [one["findings"] for one in checks if one.get("findings")] == []


@pytest.mark.parametrize(
    "name, title",
    [
        ("PMID: 20979621", "Differential Growth of Bark in Count Data"),
        ("https://europepmc.org/article/MED/20979621", "Differential Growth of Bark in Count Data"),
        ("2016PhRvL.116f1102E", "Observation of Slow Waves from a Merger of Two Dark Rivers"),
        ("RePEc:aea:aecrev:v:57:y:1995:p:289-300",
         "Sap and the Rate of Discovery: A Practical Approach"),
    ],
)  # fmt: skip
def test_the_number_of_a_database_finds_its_work(run: Run, name: str, title: str) -> None:
    done = run("find", "--json", name)
    assert [hit["work"]["title"] for hit in json.loads(done.stdout)["hits"]] == [title]


def test_a_number_of_another_work_is_told(run: Run, tmp_path: Path) -> None:
    bib = EXPORTS[: EXPORTS.index("@Article")].replace(BARK, SAP)
    done = run("check", "--format", "json", "-", text=bib)
    codes = [one["code"] for check in json.loads(done.stdout)["checks"]
             for one in check.get("findings", ())]  # fmt: skip
    assert "url-other-work" in codes


def test_a_name_that_the_library_lacks_is_said_and_one_with_digits_is_not_corrected(
    run: Run, tmp_path: Path
) -> None:
    done = run("find", "--json", "xylomatic leaves")
    (problem,) = json.loads(done.stdout)["problems"]
    assert problem["code"] == "not-held" and "“xylomatic”" in problem["message"]
    assert json.loads(run("find", "--json", "falling leaves").stdout).get("problems", []) == []
