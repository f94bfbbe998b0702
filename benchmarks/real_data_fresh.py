"""Problems of `real_data.py`: the parts "fresh" and "reserve".

Chosen by documentation alone: table, label, split, selection and dropped columns come from the
tables' help pages, their columns and the counts of their values. Nothing was fitted to a table, and
no risk was looked at, before it was in this file. Tables have at least 400 rows, and no table is
here twice, under another name or as made data.
"""

from __future__ import annotations

from real_data_entry import Entry

# fmt: off
REGRESSION_NATURAL = (
    Entry(
        "botswana", "wooldridge/fertil2", "children", source="urban == 1", target="urban == 0",
        drop=("ceb", "agefbrth", "urb_educ", "yearborn", "mnthborn", "agesq", "educ0", "frsthalf"),
        why="ceb is the children ever born, agefbrth is missing without one; urb_educ tells the "
            "split; the others repeat age and education",
    ),
    Entry(
        "companies", "HSAUR/Forbes2000", "marketvalue", transform="log",
        source="country == 'United States'", target="country != 'United States'",
        drop=("rank", "name"), why="the market value is part of the rank; name identifies",
    ),
    Entry(
        "earnings", "AER/CPSSW9298", "earnings", transform="log",
        source="year == 1992", target="year == 1998",
    ),
    Entry(
        "films", "ggplot2movies/movies", "rating", keep="Short == 0",
        source="year >= 1960 and year <= 1985", target="year >= 1995",
        drop=("title", "mpaa", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10"),
        why="r1 to r10 are the distribution of the label; title identifies; mpaa is known lately",
    ),
    Entry(
        "hotel", "modeldata/hotel_rates", "avg_price_per_room", transform="log",
        source="arrival_date_num < 2017", target="arrival_date_num >= 2017.25",
        drop=("arrival_date", "near_christmas", "near_new_years", "company"),
        why="the first three tell the date, which is the split; company is a name, mostly none",
    ),
    Entry(
        "injuries", "wooldridge/injury", "durat", transform="log",
        source="ky == 1", target="ky == 0", nominal=("indust", "injtype"),
        drop=(
            "mi", "ldurat", "totmed", "ltotmed", "injdes", "lprewage", "lage", "afhigh",
            "highlpre", "head", "neck", "upextr", "trunk", "lowback", "lowextr", "occdis",
            "manuf", "construc",
        ),
        why="mi is the split, ldurat the label; medical costs are known afterwards; the others "
            "repeat",
    ),
    Entry(
        "rail", "modeldata/Chicago", "ridership",
        source="date < '2009-01-01'", target="date >= '2012-01-01'",
    ),
    Entry(
        "rice", "plm/RiceFarms", "goutput", transform="log",
        source="region in ['wargabinangun', 'langan', 'gunungwangi']",
        target="region in ['malausma', 'sukaambit', 'ciwangi']",
        drop=("id", "noutput", "totlabor"),
        why="id identifies the farm; noutput is the label less costs; totlabor is a sum",
    ),
    Entry(
        "schools", "mlmRev/Hsb82", "mAch", source="sector == 'Public'",
        target="sector == 'Catholic'", drop=("school", "cses"),
        why="school identifies the sector; cses is ses less meanses",
    ),
    Entry(
        "third_grade", "AER/STAR", "math3", source="school3 == 'rural'",
        target="school3 in ['inner-city', 'suburban', 'urban']",
        drop=(
            "read3", "schoolk", "school1", "school2", "systemk", "system1", "system2", "system3",
            "schoolidk", "schoolid1", "schoolid2", "schoolid3",
        ),
        why="read3 is of the same test; schools and their systems tell the split",
    ),
    Entry(
        "vietnam", "Ecdat/VietNamH", "lntotal", source="urban == 'no'", target="urban == 'yes'",
        drop=("lnrlfood", "lnmed", "lnexp12m", "commune"),
        why="the three expenditures are parts of the label; commune tells the split",
    ),
    Entry(
        "young_men", "wooldridge/card", "wage", transform="log",
        source="south == 0", target="south == 1", nominal=("married",),
        drop=(
            "id", "weight", "lwage", "expersq", "south66", "reg661", "reg662", "reg663",
            "reg664", "reg665", "reg666", "reg667", "reg668", "reg669",
        ),
        why="lwage is the label; the regions of 1966 tell the split; weight is the survey's",
    ),
)

REGRESSION_SELECTION = (
    Entry(
        "biomass", "modeldata/biomass", "HHV", select=("oxygen",), drop=("sample", "dataset"),
        why="sample identifies; dataset is the original split into training and test",
    ),
    Entry("car_prices", "modeldata/car_prices", "Price", transform="log",
          select=("Mileage", "Cylinder")),
    Entry(
        "chemistry", "mlmRev/Chem97", "score", select=("gcsescore",),
        drop=("lea", "school", "student", "gcsecnt"),
        why="the first three identify; gcsecnt is gcsescore, centred",
    ),
    Entry("deliveries", "modeldata/deliveries", "time_to_delivery", select=("distance", "hour")),
    Entry(
        "gestation", "mosaicData/Gestation", "wt", select=("age", "wt.1"), drop=("id", "date"),
        why="id identifies; date of birth",
    ),
    Entry(
        "medical_costs", "sampleSelection/RandHIE", "meddol", transform="log1p",
        select=("xage", "income"), nominal=("plan", "site"),
        drop=(
            "zper", "outpdol", "drugdol", "suppdol", "mentdol", "inpdol", "totadm", "inpmis",
            "mentvis", "mdvis", "notmdvis", "lnmeddol", "binexp", "linc", "lnum", "lfam",
        ),
        why="zper identifies; costs, admissions and visits are the label's parts; logs repeat",
    ),
    Entry(
        "package_checks", "modeldata/check_times", "check_time", transform="log",
        keep="status == 1", select=("r_size", "imports"), drop=("package", "status"),
        why="package identifies; status says that a time is censored",
    ),
    Entry("visits", "AER/NMES1988", "visits", transform="log1p", select=("age", "income")),
    Entry(
        "weight_change", "causaldata/nhefs", "wt82_71", select=("age", "smokeintensity"),
        nominal=("marital", "birthplace", "alcoholtype"),
        drop=(
            "seqn", "id", "wt82", "death", "yrdth", "modth", "dadth", "censored", "older",
            "smkintensity82_71", "hightax82", "price82", "tax82", "price71_82", "tax71_82",
        ),
        why="wt82 contains the label; deaths, prices and changes are known afterwards",
    ),
)

TWO_CLASSES_NATURAL = (
    Entry(
        "abortion_ban", "carData/CES11", "abortion", 2,
        source="urban == 'urban'", target="urban == 'rural'",
        drop=("id", "weight", "population"), why="population repeats the province",
    ),
    Entry(
        "breast_cancer", "survival/rotterdam", "recur", 2,
        source="year <= 1986", target="year >= 1989",
        drop=("pid", "rtime", "dtime", "death"), why="times and death contain the label",
    ),
    Entry(
        "contraception", "mlmRev/Contraception", "use", 2,
        source="urban == 'N'", target="urban == 'Y'",
        drop=("woman", "district"), why="woman identifies; district tells the split",
    ),
    Entry(
        "covid", "medicaldata/covid_testing", "result", 2,
        keep="result in ['negative', 'positive']",
        source="pan_day <= 45", target="pan_day >= 65",
        drop=("subject_id", "fake_first_name", "fake_last_name", "ct_result", "test_id"),
        why="ct_result is the measurement behind the label; names and subject_id identify",
    ),
    Entry(
        "prenatal", "mlmRev/guPrenat", "prenat", 2,
        source="indig == 'Ladino'", target="indig != 'Ladino'",
        drop=("kid", "mom", "cluster", "pcInd81"),
        why="the first three identify; pcInd81 is the community's share of the split's groups",
    ),
    Entry(
        "resumes", "AER/ResumeNames", "call", 2, source="city == 'chicago'",
        target="city == 'boston'", drop=("name",), why="name repeats gender and ethnicity",
    ),
    Entry(
        "searches", "carData/MplsStops", "personSearch", 2,
        source="policePrecinct in [3, 4]", target="policePrecinct in [1, 2, 5]",
        drop=("idNum", "date", "MDC", "lat", "long", "neighborhood", "vehicleSearch",
              "citationIssued"),
        why="place tells the precinct; the other search and the citation are outcomes of the stop",
    ),
    Entry(
        "smoking", "openintro/smoking", "smoke", 2,
        source="region in ['The North', 'Midlands & East Anglia', 'Scotland', 'Wales']",
        target="region in ['London', 'South East', 'South West']",
        drop=("amt_weekends", "amt_weekdays", "type", "nationality"),
        why="amounts and type are known of smokers only; nationality tells the region",
    ),
    Entry(
        "smoking_ban", "AER/SmokeBan", "smoker", 2,
        source="education in ['hs drop out', 'hs']", target="education in ['college', 'master']",
    ),
    Entry("tips", "modeldata/taxi", "tip", 2, source="local == 'no'", target="local == 'yes'"),
    Entry(
        "trump_vote", "stevedata/TV16", "votetrump", 2,
        source="state in ['California', 'Oregon', 'Washington', 'New York', 'Massachusetts', "
               "'New Jersey', 'Connecticut', 'Maryland', 'Illinois']",
        target="state in ['Texas', 'Florida', 'Georgia', 'Alabama', 'Tennessee', "
               "'South Carolina', 'Mississippi', 'Louisiana', 'Arkansas', 'Kentucky']",
        drop=("uid", "lrelig", "lcograc", "lemprac"),
        why="uid identifies; the others are scores of the columns before them",
    ),
    Entry(
        "wilms", "survival/nwtco", "rel", 2, source="study == 3", target="study == 4",
        drop=("seqno", "edrel", "in.subcohort"), why="the time to relapse contains the label",
    ),
)

TWO_CLASSES_SELECTION = (
    Entry(
        "credit_card", "AER/CreditCard", "card", 2, select=("income", "age"),
        drop=("share", "expenditure"), why="both are nothing without a card",
    ),
    Entry(
        "pension_plan", "wooldridge/k401ksubs", "e401k", 2, select=("inc", "age"),
        drop=("p401k", "incsq", "agesq"), why="p401k implies the label; squares repeat",
    ),
    Entry(
        "recidivism", "wooldridge/recid", "cens", 2, select=("age", "tserved"),
        drop=("durat", "ldurat", "follow"), why="times until the return contain the label",
    ),
    Entry("spam_words", "DAAG/spam7", "yesno", 2, select=("crl.tot",)),
    Entry(
        "swings", "Stat2Data/Kershaw", "Swing", 2, select=("StartSpeed", "VPos"),
        drop=("Outcome", "Class", "Result", "ABEvent", "Time", "Batter"),
        why="the first four are outcomes of the pitch; time and batter identify",
    ),
    Entry("wells", "carData/Wells", "switch", 2, select=("arsenic", "distance")),
)

MORE_CLASSES_NATURAL = (
    Entry(
        "employment", "openintro/acs12", "employment", 3,
        source="gender == 'male'", target="gender == 'female'",
        drop=("income", "hrs_work", "time_to_work"),
        why="income, hours and the way to work are those of the employed",
    ),
    Entry(
        "heating", "Ecdat/Heating", "depvar", 5,
        source="region in ['scostl', 'ncostl']", target="region in ['valley', 'mountn']",
        drop=("idcase", "pb.gc", "pb.gr", "pb.ec", "pb.er", "pb.hp"),
        why="idcase identifies; the others are ratios of oc and ic",
    ),
    Entry(
        "rodents", "ratdat/complete", "genus", 5,
        keep="genus in ['Dipodomys', 'Chaetodipus', 'Onychomys', 'Reithrodontomys', 'Peromyscus']",
        source="plot_type == 'Control'",
        target="plot_type in ['Short-term Krat Exclosure', 'Long-term Krat Exclosure', "
               "'Rodent Exclosure']",
        drop=("record_id", "plot_id", "species_id", "species", "taxa"),
        why="the species contains the genus; plot_id tells the split",
    ),
    Entry(
        "secondary_school", "AER/GSOEP9402", "school", 3,
        source="state not in ['Bayern', 'Baden Wuerttemberg']",
        target="state in ['Bayern', 'Baden Wuerttemberg']",
        drop=("birthyear",), why="birthyear is year less 14",
    ),
    Entry("vote_1992", "pscl/vote92", "vote", 3, source="female == 0", target="female == 1"),
)

MORE_CLASSES_SELECTION = (
    Entry(
        "fishing", "Ecdat/Fishing", "mode", 4, select=("income", "pboat"),
        drop=("price", "catch"), why="both are those of the chosen mode",
    ),
    Entry(
        "liver_stage", "survival/pbcseq", "stage", 4, select=("age", "albumin"),
        drop=("id", "futime", "status"), why="id identifies; status and futime come later",
    ),
    Entry(
        "olive", "dslabs/olive", "region", 3, select=("palmitic", "stearic"),
        drop=("area",), why="the area is part of the region",
    ),
    Entry(
        "park", "Ecdat/Kakadu", "answer", 3, select=("income", "age"), drop=("lower", "upper"),
        why="both bounds follow from the answer",
    ),
    Entry(
        "welfare_spending", "stevedata/gss_spending", "natfare", 3, select=("age", "educ"),
        drop=("id", "sumnat", "sumnatsoc"), why="both sums contain the label",
        nominal=("race", "wrkstat"),
    ),
)
# fmt: on

ENTRIES = (
    *REGRESSION_NATURAL,
    *REGRESSION_SELECTION,
    *TWO_CLASSES_NATURAL,
    *TWO_CLASSES_SELECTION,
    *MORE_CLASSES_NATURAL,
    *MORE_CLASSES_SELECTION,
)
