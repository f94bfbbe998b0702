"""The part "last" of `real_data.py`: 24 problems.

Chosen by documentation alone, as those of ``real_data_fresh.py``. Tables have at least 800 rows,
targets of natural splits at least 200.
"""

from __future__ import annotations

from real_data_entry import Entry

# Dropped columns of medicaldata/opt: measurements of the third and the fifth visit, which women who
# give birth early miss, and blood values, which are stored as text.
PERIODONTAL = ("GE", ".BOP", "PD.avg", ".PD.4", ".PD.5", "CAL.avg", ".CAL.2", ".CAL.3", "Calc.I",
               "Pl.I", "Anti.inf", "Cortico", "Antibio", "Bac.vag")  # fmt: skip
BACTERIA = ("AA", "PG", "TD", "TF", "PI", "CR", "FN", "S7")
BLOOD = ("OAA", "OCR", "OFN", "OPG", "OPI", "OTD", "OTF", "OCRP", "O1B", "O6", "O8", "OPGE2",
         "OTNF", "OMMP9", "ETXU_CAT", "OFIBRIN")  # fmt: skip
LATER = (
    *(f"V{visit}.{name}" for visit in (3, 5) for name in PERIODONTAL),
    *("V5.DNA", "V5.Univ"),
    *(f"V5.{dot}{name}" for dot in ("", ".") for name in BACTERIA),
    *(f"{name}{visit}" for visit in (1, 5) for name in BLOOD),
)
# Columns of Ecdat/Car that repeat those of the proposition before.
ALIKE = ("fuel", "price", "range", "acc", "speed", "pollution", "size", "space", "cost", "station")

# fmt: off
REGRESSION_NATURAL = (
    Entry(
        "canada", "carData/SLID", "wages", transform="log",
        source="language == 'English'", target="language in ['French', 'Other']",
    ),
    Entry(
        "dutch_pupils", "mlmRev/bdf", "langPOST",
        source="denomina in [2, 3]", target="denomina == 1",
        drop=("schoolNR", "pupilNR", "classNR", "aritPOST", "IQ.ver.cen", "avg.IQ.ver.cen",
              "grpSiz.cen"),
        why="the first three identify; aritPOST is of the same test; the others are centred copies",
    ),
    Entry(
        "grinnell", "Stat2Data/GrinnellHouses", "SalePrice", transform="log",
        source="YearSold <= 2008", target="YearSold >= 2011",
        drop=("Date", "Address", "CostPerSqFt", "OrigPrice", "ListPrice", "SPLPPct"),
        why="Date tells the split; Address identifies; the others are asking prices or contain the "
            "label",
    ),
    Entry(
        "immigration", "stevedata/ESS9GB", "immigsent",
        source="region in ['North East (England)', 'North West (England)', "
               "'Yorkshire and the Humber', 'East Midlands (England)', "
               "'West Midlands (England)', 'Scotland', 'Wales', 'Northern Ireland']",
        target="region in ['London', 'South East (England)', 'South West (England)', "
               "'East of England']",
        drop=("idno", "stintrvw", "endintrvw", "imbgeco", "imueclt", "imwbcnt"),
        why="the label is the sum of the last three; idno identifies; dates of the interview",
    ),
    Entry(
        "newborns", "medicaldata/opt", "Birthweight",
        source="Clinic in ['MN', 'MS']", target="Clinic in ['KY', 'NY']",
        drop=(
            "PID", "Birth.outcome", "Preg.ended...37.wk", "GA.at.outcome",
            "Fetal.congenital.anomaly", "Apgar1", "Apgar5", "Any.SAE.", "GA...1st.SAE",
            "X..Vis.Att", "X..Vis.Elig", "X1st.Miss.Vis", "Tx.comp.", "Local.anes",
            "Topical.Anest", "Tx.time", "Completed.EDC", "N.extractions", "N.perm.restorations",
            "N.PAL.sites", *LATER,
        ),
        why="PID identifies; the others are outcomes, recorded during the pregnancy, or text",
    ),
    Entry(
        "wind", "mosaicData/Weather", "avg_wind",
        source="month >= 4 and month <= 9", target="month <= 3 or month >= 10",
        drop=("date", "day", "high_wind", "low_wind", "precip"),
        why="date tells the split; high_wind and low_wind are of the label; precip is text",
    ),
)

REGRESSION_SELECTION = (
    Entry(
        "college_grades", "wooldridge/gpa2", "colgpa", select=("sat", "hsize"),
        drop=("hsizesq",), why="a square of hsize",
    ),
    Entry(
        "innovation", "sandwich/InstInnovation", "cites", transform="log1p", select=("sales",),
        drop=("company", "patents", "subsample"), nominal=("industry",),
        why="company identifies; the label is the patents, weighted by their citations; subsample "
            "is the original study's",
    ),
    Entry(
        "participation", "wooldridge/k401k", "prate", select=("age", "mrate"),
        drop=("totpart", "ltotemp"), why="the label is totpart over totelg; ltotemp repeats totemp",
    ),
    Entry(
        "rainfall", "crch/RainIbk", "rain", transform="log1p", select=("rainfc.1", "rainfc.7"),
    ),
)

TWO_CLASSES_NATURAL = (
    Entry(
        "aids", "MASS/Aids2", "status", 2, source="state == 'NSW'", target="state != 'NSW'",
        drop=("death",), why="the date of death contains the label",
    ),
    Entry(
        "bird_strikes", "openintro/birds", "birds_struck", 2,
        keep="birds_struck in ['1', '2-10']",
        source="phase_of_flt in ['Approach', 'Landing Roll', 'Descent']",
        target="phase_of_flt in ['Take-off run', 'Climb']",
        drop=("opid", "remarks", "date", "effect", "birds_seen"),
        why="opid repeats operator; remarks and effect tell the outcome; birds seen are at least "
            "those struck",
    ),
    Entry(
        "dengue", "DAAG/dengue", "NoYes", 2, source="Xmin >= -25", target="Xmin < -25",
        drop=("Xmax", "Ymin", "Ymax"), why="places: longitude is the split",
    ),
    Entry(
        "reinfection", "KMsurv/std", "rinfct", 2, source="race == 'B'", target="race == 'W'",
        drop=("obs", "time"), nominal=("iinfct",),
        why="obs identifies; the time to the reinfection contains the label",
    ),
    Entry(
        "suicide", "Stat2Data/SuicideChina", "Died", 2,
        source="Sex == 'female'", target="Sex == 'male'", drop=("Person_ID", "Hospitalised"),
        why="Person_ID identifies; all who were not brought to a hospital had died",
    ),
    Entry(
        "swiss_women", "AER/SwissLabor", "participation", 2,
        source="foreign == 'no'", target="foreign == 'yes'",
    ),
)

TWO_CLASSES_SELECTION = (
    Entry(
        "crop_insurance", "causaldata/social_insure", "takeup_survey", 2,
        select=("age", "ricearea_2010"), drop=("address",),
        why="address, the natural village, is part of the village",
    ),
    Entry("legislators", "causaldata/black_politicians", "responded", 2,
          select=("urbanpercent", "medianhhincom")),
    Entry(
        "unemployment", "Ecdat/Benefits", "ui", 2, select=("age", "tenure"), nominal=("state",),
    ),
)

MORE_CLASSES_NATURAL = (
    Entry(
        "car_choice", "Ecdat/Car", "choice", 6, source="college == 1", target="college == 0",
        drop=("type3", "type5", *(f"{name}{i}" for i in (2, 4, 6) for name in ALIKE)),
        why="propositions 1 and 2, 3 and 4, 5 and 6 differ in the type only; 1, 3 and 5 share it",
    ),
    Entry(
        "insults", "lme4/VerbAgg", "resp", 3, source="Gender == 'F'", target="Gender == 'M'",
        drop=("id", "item", "r2"),
        why="id identifies; item is btype, situ and mode together; r2 is the label in two classes",
    ),
    Entry(
        "insured", "stevedata/mm_nhis", "hlth", 4, keep="hlth >= 2",
        source="hi == 0", target="hi == 1", drop=("perweight",), why="the survey's weight",
    ),
)

MORE_CLASSES_SELECTION = (
    Entry(
        "hawks", "Stat2Data/Hawks", "Species", 3, select=("Year", "Tail"),
        drop=("Day", "CaptureTime", "ReleaseTime", "BandNumber", "Sex"),
        why="BandNumber identifies; Sex is not known of one species; day and times are text or "
            "identify",
    ),
    Entry(
        "knowledge", "pscl/politicalInformation", "y", 4,
        keep="y != 'Very Low'", select=("age", "length"), drop=("id",),
        why="id is the interviewer, who gives the label",
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
