"""Share of the references of public theses that a library holds, by field and kind.

    python tests/bench/fields_bench.py --library corpus_tools/starter/citewell_starter/library

The references are those of `../shared/data/contexts/contexts_train3` and `contexts_no_gold3`, each
once for a repository. `--write FILE` writes the shares as JSON, which the card of the starter takes.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path

from citewell.corpus.library import Library
from citewell.documents.bib.reader import parse_bib
from citewell.documents.bib.work import entry_work
from citewell_corpus.coverage import is_held

CONTEXTS = Path(__file__).resolve().parents[3] / "shared" / "data" / "contexts"
FIELDS = {
    "physics and astronomy": """
        Charlotte-Knight/Thesis SzymonPrajs/Thesis BradenCzapla/DoctoralDissertation SoChigusa/PhD-thesis
        PipGrylls/Philip_Grylls_UoS_Thesis jack-heinzel/phd-thesis pararover/pb-phd-thesis-2024
        jakelishman/phd-thesis ronak-n-desai/ronak-desai-dissertation basnijholt/thesis sam7k9621/PhD
        CorwinLab/jamesDissertation CorwinLab/aileenDissertation charles-uno/dissertation
        chrisjbillington/thesis DanielAndreasen/Thesis chemron/honours_thesis idebruyn/thesis
        153957/phd_thesis RohanBhandari/Dissertation dsklein/dissertation daimonie/mscthesis
        AvonHaaren/mphil-thesis AdriaanRol/MasterThesis Quizznor/thesis-latex""",
    "chemistry and materials": """
        Trombach/thesis jl2922/thesis ClaudioPadilha/PhDThesisLaTeX avcopan/dissertation rpt26/Thesis
        aquilesC/phd-thesis v1thesource/PhD-Thesis aravindhnivas/phd-thesis-v2 CJ-Wright/Masters_Thesis
        kiri-thornalley/MSc_thesis andras-kiss/phd_dissertation""",
    "biology and medicine": """
        EvoLandEco/Thesis cbrueffer/phd_thesis alessiofragasso/dissertation_AF_whole tgrohens/phd
        djhshih/djhshih-phd-thesis Mills33/PhD_thesis CuriousCactus/Thesis Carreau/phd-dissertation
        willwiz/PhD-Dissertation-Permanent-Set-Simulation CourtneyCampany/WTC3_tree
        martinaoliver/PhD_thesis Aszarsha/PhDManuscript bulksoil/Dissertation magnusclarke/thesis
        dasesteves/TeseBioinformatica AlexanderLabWHOI/EUKulele bbest/dissertation
        BenSiv/Developing-novel-methods-for-gene-editing-in-trees arinwongprommoon/selex2019""",
    "neuroscience and psychology": """
        AurinaBMH/PHDthesisLatex kachiO/phd-thesis diego0020/disertation cbergey/dissertation
        AurinaBMH/WORMPlosCBtemplate BonnerLab/scale-free-visual-cortex tomboulier/PhD-thesis""",
    "earth and climate": """
        sdat2/surge Chilipp/PhD-thesis Ewan82/Latex brhillman/dissertation scottstanie/phd-thesis
        ee12lmb/doc nltyrrell/thesiscopy 05michaelallen/thesis EDiLD/ms_est
        bentharnist-fmi/bcnn-prob-nowcasting-thesis""",
    "economics and politics": """
        Peter-Erickson/Dissertation galileukim/dissertation judgelord/dissertation BCEgerod/Danish_muni
        AEADataEditor/report-aea-data-editor-2018 AnneOkk/book_chapter_entre_wb
        jukkahuhtamaki/ostinato-dissertation""",
    "mathematics and engineering": """
        carlos-echeverria/phd-thesis skailasa/phd-thesis dahliabaker/dissertation yannisl/phd
        mitchpaulus/Dissertation 3lectrologos/thesis GSongHashrate/PhD-thesis""",
    "computing": """
        scubjwu/dissertation Huizerd/thesis diegoferigo/phd-thesis AaronJackson/thesis
        alexandrosstergiou/About-Time-Advances-Challenges-and-Outlooks-for-Action-Understanding
        csjunxu/CVPR2017_GuidedPG_Latex dnaihao/table-sft-eacl-2026 cslhxac/Dissertation
        antmeyer/dissertation mittagessen/phd kornai/MoLHandbook aclapes/palmero2014trimodal
        csjunxu/TripleWeightedNormPaper""",
}  # fmt: skip
"""Repositories by field."""


NO_BRACES = str.maketrans("", "", "{}\\\\")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    field_of = {repo: field for field, repos in FIELDS.items() for repo in repos.split()}
    seen: set[tuple[str, str]] = set()
    held: Counter[str] = Counter()
    total: Counter[str] = Counter()
    kinds: defaultdict[str, Counter[str]] = defaultdict(Counter)
    with Library.open(given.library) as library:
        for name in ("contexts_train3", "contexts_no_gold3"):
            with gzip.open(CONTEXTS / f"{name}.jsonl.gz", "rt", encoding="utf-8") as stream:
                for line in stream:
                    cited = json.loads(line)
                    field = field_of.get(cited["source_repo"])
                    title = (cited["gold_title"] or "").translate(NO_BRACES)
                    if field is None or not title:
                        continue
                    authors = " and ".join(cited["gold_authors"] or ()).translate(NO_BRACES)
                    bib = parse_bib(
                        f"@{cited['bib_type'] or 'misc'}{{k, title = {{{title}}}, "
                        f"author = {{{authors}}}, year = {{{cited['gold_year'] or ''}}}}}"
                    )
                    work = entry_work(bib, bib.entries[0])
                    one = cited["source_repo"], bib.entries[0].body.title_key
                    if one in seen or not one[1]:
                        continue
                    seen.add(one)
                    is_known = is_held(library, bib.entries[0], work)
                    held[field] += is_known
                    total[field] += 1
                    kinds[work.kind][str(is_known)] += 1
    print(f"{'held':>6} {'of':>6} {'share':>6}  field")
    for field in FIELDS:
        share = held[field] / max(1, total[field])
        print(f"{held[field]:>6} {total[field]:>6} {share:>6.1%}  {field}")
    for kind, counts in sorted(kinds.items(), key=lambda one: -one[1].total())[:6]:
        print(
            f"{counts['True']:>6} {counts.total():>6} {counts['True'] / counts.total():>6.1%}  @{kind}"
        )
    if given.write:
        shares = {field: round(held[field] / max(1, total[field]), 3) for field in FIELDS}
        given.write.write_text(json.dumps(shares), encoding="utf-8")


if __name__ == "__main__":
    main()
